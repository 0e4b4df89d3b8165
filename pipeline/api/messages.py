"""What a response says: the one place that knows the interface's bodies and status codes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeAlias

from pipeline.answers import Match
from pipeline.money import ZERO, total

__all__ = [
    "MAX_BODY",
    "Answered",
    "InsufficientBalance",
    "Outcome",
    "Passing",
    "RateLimited",
    "Refused",
    "Stray",
    "Unauthorized",
    "Unconfirmed",
    "Unreadable",
    "WrongCurrency",
    "read_response",
]

MAX_BODY: Final = 1 << 20
"""Bytes of the largest body that is read; ten matches take about two thousand."""

LONGEST_WAIT = 24 * 3600.0
KNOWN_ERRORS = {
    "VALIDATION_ERROR",
    "UNAUTHORIZED",
    "RATE_LIMIT_EXCEEDED",
    "INSUFFICIENT_BALANCE",
    "INTERNAL_ERROR",
}
NOT_A_NUMBER = Decimal("NaN")
FINEST_USD = Decimal("1e-24")
DIGITS = 38
IN_PARQUET = Context(prec=DIGITS, traps=[Inexact, InvalidOperation])
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Answered:
    """The matches, best first, and what they cost; a cost of None is unknown, never 0."""

    matches: tuple[Match, ...]
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A lasting failure of this text."""

    error: str
    message: str
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A success that nobody can make sense of; it was paid for all the same."""

    reason: str
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class WrongCurrency:
    """An answer priced in another currency than US dollars.

    Attributes:
        currency: what the response calls it.
        cost: the price in that currency, None if unknown.
        matches: what was paid for.
    """

    currency: str
    cost: Decimal | None
    matches: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class Unauthorized:
    """The key is missing or not accepted."""

    message: str


@dataclass(frozen=True, slots=True)
class InsufficientBalance:
    """The account cannot pay for the call."""

    message: str


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Too many requests; ``wait`` is in seconds, None if the service does not say."""

    wait: float | None


@dataclass(frozen=True, slots=True)
class Passing:
    """The service could not answer and billed nothing; the call may be sent again."""

    error: str


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """The answer was lost on its way; the call may have been billed."""

    error: str


@dataclass(frozen=True, slots=True)
class Stray:
    """Not the service's voice: a wrong base URL, a proxy or a firewall."""

    status: int
    hint: str


Outcome: TypeAlias = (
    Answered
    | Refused
    | Unreadable
    | WrongCurrency
    | Unauthorized
    | InsufficientBalance
    | RateLimited
    | Passing
    | Unconfirmed
    | Stray
)


def read_response(
    status: int, headers: Mapping[str, str], body: bytes, now: datetime | None = None
) -> Outcome:
    """Say what a response means; nothing that a server can send makes this raise.

    Matches stand by confidence, ties as received, the first of equal codes kept. A confidence
    is a number or the text of one; anything else, NaN and infinities too, is 0. A code sent as
    a whole number is taken as its digits. What a success means depends on ``status`` and
    ``body`` alone, so that a response kept for years can be read again.

    Args:
        status: the HTTP status.
        headers: its headers; only those of a refusal matter.
        body: its bytes, of which more than `MAX_BODY` are unreadable.
        now: the clock for a ``Retry-After`` with a date where the response has no ``Date``.
    """
    content = _parsed(body)
    named = {name.lower(): value for name, value in headers.items()}
    if isinstance(content, dict) and _is_failure(content):
        return _failure(status, named, content, now)
    if 200 <= status <= 299:
        outcome = _success(content)
        if status == 200 or not isinstance(outcome, Unreadable):
            return outcome
    return _by_status(status, named, "", now) or _stray(status, named)


def _parsed(body: bytes) -> dict[str, Any] | str:
    """Return the JSON object in a body, or why there is none."""
    if len(body) > MAX_BODY:
        return f"The body is larger than {MAX_BODY} bytes."
    try:
        content = json.loads(
            body.decode(json.detect_encoding(body), "replace"),
            parse_float=_number,
            parse_int=_number,
            parse_constant=_number,
            strict=False,
        )
    except (ValueError, RecursionError):
        return "The body is not JSON, or not all of it arrived."
    return content if isinstance(content, dict) else "The body is not a JSON object."


def _number(text: str) -> Decimal:
    """Read a number without a float in between; one that none can hold is NaN."""
    try:
        return Decimal(text) if NUMBER.fullmatch(text) else NOT_A_NUMBER
    except InvalidOperation:
        return NOT_A_NUMBER


def _is_failure(content: Mapping[str, Any]) -> bool:
    """Tell the service's error envelope from the errors of gateways and frameworks."""
    success = content.get("success")
    return success is False or (success is None and _error(content) in KNOWN_ERRORS)


def _failure(
    status: int, headers: Mapping[str, str], content: Mapping[str, Any], now: datetime | None
) -> Outcome:
    error, message = _error(content), _printable(content.get("message"))
    match error:
        case "VALIDATION_ERROR":
            return Refused(error, message, _cost_usd(content))
        case "UNAUTHORIZED":
            return Unauthorized(message)
        case "INSUFFICIENT_BALANCE":
            return InsufficientBalance(message)
        case "RATE_LIMIT_EXCEEDED":
            return RateLimited(_wait(headers, now))
        case "INTERNAL_ERROR":
            return Passing(error)
    if status == 403:
        return Unauthorized(message)
    if status >= 500 and status not in (502, 504):
        return Passing(error)
    return _by_status(status, headers, message, now) or Refused(error, message, _cost_usd(content))


def _by_status(
    status: int, headers: Mapping[str, str], message: str, now: datetime | None
) -> Outcome | None:
    match status:
        case 401:
            return Unauthorized(message)
        case 402:
            return InsufficientBalance(message)
        case 429:
            return RateLimited(_wait(headers, now))
        case 408 | 425 | 503:
            return Passing(f"HTTP_{status}")
    return Unconfirmed(f"HTTP_{status}") if 500 <= status <= 599 else None


def _stray(status: int, headers: Mapping[str, str]) -> Stray:
    if 300 <= status <= 399 and (target := _printable(headers.get("location"))):
        return Stray(status, f"It redirects to {target}: check the base URL.")
    return Stray(status, "Check the base URL, and any proxy on the way to it.")


def _success(content: dict[str, Any] | str) -> Outcome:
    if isinstance(content, str):
        return Unreadable(content, None)
    matches, currency = _matches(content.get("data", "")), _currency(content)
    if matches is None or content.get("success") not in (None, True):
        return Unreadable("The body is no success with a list of matches.", _cost_usd(content))
    if currency != "USD":
        return WrongCurrency(currency, _cost(content), matches)
    return Answered(matches, _cost(content))


def _matches(items: object) -> tuple[Match, ...] | None:
    """Rank the items; null is an empty list, and items without any code are no list of matches."""
    if items is not None and not isinstance(items, list):
        return None
    found = [match for item in items or () if isinstance(item, dict) and (match := _match(item))]
    best: dict[str, Match] = {}
    for match in sorted(found, key=lambda match: -match.confidence):
        best.setdefault(match.code, match)
    return tuple(best.values()) if best or not items else None


def _match(item: Mapping[str, Any]) -> Match | None:
    code = _code(item.get("code"))
    title, confidence = _text(item.get("title")), _confidence(item.get("confidence"))
    return Match(code, title, confidence) if code else None


def _code(value: object) -> str:
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < DIGITS:
        whole = value.to_integral_value()
        return f"{whole:f}" if whole == value and not value.is_signed() else ""
    return _text(value).strip()


def _confidence(value: object) -> float:
    number = _number(value.strip()) if isinstance(value, str) else value
    confidence = float(number) if isinstance(number, Decimal) else 0.0
    return confidence if math.isfinite(confidence) else 0.0


def _cost_usd(content: Mapping[str, Any]) -> Decimal | None:
    return _cost(content) if _currency(content) == "USD" else None


def _cost(content: Mapping[str, Any]) -> Decimal | None:
    """Return what was paid in either form of the metadata, None if it cannot be told."""
    detailed, compact = _prices(content)
    final, base = _amount(detailed.get("finalCost")), _amount(detailed.get("apiCost"))
    markup = _amount(detailed.get("markupAmount"))
    if final is None and base is not None and markup is not None:
        final = _amount(total([base, markup]))
    return _amount(compact.get("apiCost")) if final is None else final


def _amount(value: object) -> Decimal | None:
    """Take a price as it came if Parquet can hold it exactly."""
    amount = _number(value.strip()) if isinstance(value, str) else value
    if not isinstance(amount, Decimal) or not amount.is_finite() or amount.is_signed():
        return None
    try:
        IN_PARQUET.quantize(amount, FINEST_USD)
    except (Inexact, InvalidOperation):
        return None
    if not amount:
        return ZERO
    return amount if len(amount.as_tuple().digits) <= DIGITS else None


def _currency(content: Mapping[str, Any]) -> str:
    """Return the first currency stated that is not US dollars, else USD."""
    for prices in _prices(content):
        currency = prices.get("currency") or "USD"
        name = _printable(currency) or "unknown"
        if name.upper() != "USD":
            return name
    return "USD"


def _prices(content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the objects that hold prices: the detailed form, the compact form."""
    metadata = _object(content, "metadata")
    return _object(metadata, "costBreakdown"), _object(metadata, "cost")


def _object(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = content.get(name)
    return value if isinstance(value, dict) else {}


def _error(content: Mapping[str, Any]) -> str:
    return _printable(content.get("error")) or "UNKNOWN_ERROR"


def _text(value: object) -> str:
    """Return a text that every encoding of Unicode can hold, "" for what is none."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else ""


def _printable(value: object) -> str:
    """Return a text of the service as one short line that no terminal acts upon."""
    text = value[:300] if isinstance(value, str) else ""
    return "".join(character if character.isprintable() else " " for character in text).strip()


def _wait(headers: Mapping[str, str], now: datetime | None) -> float | None:
    """Return the seconds that Retry-After asks for, None if it says nothing of use."""
    stated = headers.get("retry-after", "").strip()
    if NUMBER.fullmatch(stated):
        wait = float(stated)
    else:
        until = _date(stated)
        since = _date(headers.get("date", "")) or now or datetime.now(UTC)
        wait = (until - since).total_seconds() if until else -1.0
    return min(wait, LONGEST_WAIT) if wait >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
