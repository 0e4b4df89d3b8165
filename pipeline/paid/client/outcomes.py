"""What a response can mean, one type for each meaning; and what its status and headers say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Final, Literal, TypeAlias

import msgspec

from pipeline.answers import Match
from pipeline.paid.client.prices import NUMBER, printable

Failure: TypeAlias = Literal["TIMEOUT", "CONNECTION_ERROR"]


class Received(msgspec.Struct, frozen=True):
    """A response arrived.

    Attributes:
        status: its HTTP status.
        headers: those that matter, with names in lower case.
        body: its bytes, uncompressed; if it is larger than allowed, cut one byte beyond the limit.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class NotSent(msgspec.Struct, frozen=True):
    """The attempt failed before any of the text was sent: it cannot have been billed.

    ``error`` is the kind of failure, ``detail`` what the network said.
    """

    error: Failure
    detail: str


class Lost(msgspec.Struct, frozen=True):
    """The attempt failed after that: the service may have answered and billed it."""

    error: Failure
    detail: str


Reply: TypeAlias = Received | NotSent | Lost


class Answered(msgspec.Struct, frozen=True):
    """The matches, best first, and what they cost; None means unknown, never 0."""

    matches: tuple[Match, ...]
    cost_usd: Decimal | None


class Refused(msgspec.Struct, frozen=True):
    """The service refused this text for good."""

    error: str
    message: str
    cost_usd: Decimal | None


class Unreadable(msgspec.Struct, frozen=True):
    """A success whose body cannot be understood; it was paid for nevertheless."""

    reason: str
    cost_usd: Decimal | None


Ended: TypeAlias = Answered | Refused | Unreadable
"""What ends a call."""


class WrongPrice(msgspec.Struct, frozen=True):
    """The end of a call whose stated price cannot be used, for a reason; its cost is unknown."""

    reason: str
    ended: Ended


class Unauthorized(msgspec.Struct, frozen=True):
    """The key is missing or not accepted."""

    message: str


class InsufficientBalance(msgspec.Struct, frozen=True):
    """The account cannot pay for the call."""

    message: str


class RateLimited(msgspec.Struct, frozen=True):
    """Too many requests; ``wait`` in seconds, None if the service does not say."""

    wait: float | None


class Passing(msgspec.Struct, frozen=True):
    """The service could not answer and billed nothing; the call may be sent again.

    ``wait``: after how many seconds, if the service says; ``detail``: what else it says.
    """

    error: str
    wait: float | None = None
    detail: str = ""


class Unconfirmed(msgspec.Struct, frozen=True):
    """The answer was lost on its way; the call may have been billed."""

    error: str


class Stray(msgspec.Struct, frozen=True):
    """The response is not the service's: a wrong base URL, a proxy or a firewall."""

    detail: str


class Charged(msgspec.Struct, frozen=True):
    """An error that leaves its call open, but states a price; None: one that cannot be used."""

    error: RateLimited | Passing | Unconfirmed | Stray
    cost_usd: Decimal | None


Single: TypeAlias = (
    Ended
    | WrongPrice
    | Unauthorized
    | InsufficientBalance
    | RateLimited
    | Passing
    | Unconfirmed
    | Stray
)

Outcome: TypeAlias = Single | Charged


MAX_BODY: Final = 1 << 20
"""The largest body that is read, bytes; ten matches take about two thousand."""

LONGEST_WAIT = 24 * 3600.0

WITHOUT_ANSWER = (202, 204, 205)
"""The successes that come instead of an answer. Any other one was paid for, also if it cannot be
read: a proxy may have changed it (203), or sent a part of it (206)."""


def by_status(status: int, headers: Mapping[str, str], message: str) -> Outcome | None:
    """Return what the status of a refusal or a failure means; None for other statuses."""
    match status:
        case 401:
            return Unauthorized(message)
        case 402:
            return InsufficientBalance(message)
        case 429:
            return RateLimited(stated_wait(headers))
        case 408 | 425 | 503:
            return Passing(f"HTTP_{status}", stated_wait(headers))
    return Unconfirmed(f"HTTP_{status}") if 500 <= status <= 599 else None


def stray(status: int, headers: Mapping[str, str]) -> Stray:
    """Return that a response is not the service's, with what its status says."""
    if 300 <= status <= 399 and (target := printable(headers.get("location"))):
        return Stray(f"HTTP {status}, a redirect to {target}")
    match status:
        case 407:
            return Stray("HTTP 407, from a proxy that wants a user and a password")
        case 413:
            return Stray("HTTP 413, the text is too long for the service or a proxy")
    return Stray(f"HTTP {status}, not a response of the service")


def stated_wait(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a response asks to wait; None if it does not say.

    Some servers state milliseconds as well. A date is measured from that of the response or,
    without one, from now.
    """
    exact, stated = (headers.get(name, "").strip() for name in ("retry-after-ms", "retry-after"))
    if NUMBER.fullmatch(exact) and not exact.startswith("-"):
        wait = float(exact) / 1000
    elif NUMBER.fullmatch(stated):
        wait = float(stated)
    else:
        until = _date(stated)
        since = _date(headers.get("date", "")) or datetime.now(UTC)
        wait = (until - since).total_seconds() if until else -1.0
    return min(wait, LONGEST_WAIT) if wait >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
