"""What a response can mean: one type for each meaning."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Literal, TypeAlias

import msgspec

from pipeline.answers import Match

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


class WrongCurrency(msgspec.Struct, frozen=True):
    """The end of a call priced in another currency than US dollars; its cost is unknown."""

    currency: str
    ended: Ended


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

    status: int
    detail: str


class Charged(msgspec.Struct, frozen=True):
    """An error that leaves its call open, but states a price; None: one that cannot be used."""

    error: RateLimited | Passing | Unconfirmed | Stray
    cost_usd: Decimal | None


Outcome: TypeAlias = (
    Answered
    | Refused
    | Unreadable
    | WrongCurrency
    | WrongPrice
    | Unauthorized
    | InsufficientBalance
    | RateLimited
    | Passing
    | Unconfirmed
    | Stray
    | Charged
)
