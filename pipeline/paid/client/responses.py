"""Reads responses: the one module that knows the interface's bodies and status codes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, Final

from msgspec.structs import replace

from pipeline.answers import Match
from pipeline.paid.client.outcomes import (
    Answered,
    Charged,
    Ended,
    InsufficientBalance,
    Outcome,
    Passing,
    RateLimited,
    Refused,
    Stray,
    Unauthorized,
    Unconfirmed,
    Unreadable,
    WrongCurrency,
    WrongPrice,
)
from pipeline.paid.client.prices import NUMBER, Price, decoded, number, printable, read_price

__all__ = [
    "MAX_BODY",
    "is_surely_free",
    "is_whole",
    "read_response",
]


MAX_BODY: Final = 1 << 20
"""The largest body that is read, bytes; ten matches take about two thousand."""


LONGEST_WAIT = 24 * 3600.0
BETWEEN_WAITS = re.compile(r",(?! *[0-9]{1,2}[ -][A-Za-z])")
"""A comma that is not the one after a date's day of the week."""

KNOWN_ERRORS = {
    "VALIDATION_ERROR",
    "UNAUTHORIZED",
    "RATE_LIMIT_EXCEEDED",
    "INSUFFICIENT_BALANCE",
    "INTERNAL_ERROR",
}
CHARGEABLE = RateLimited | Passing | Unconfirmed | Stray
REFUSALS = (401, 402, 429)
"""The statuses of refusals that are recognised without a body, and not billed."""

WITHOUT_ANSWER = (202, 204, 205)
"""The successes that come instead of an answer. Any other one was paid for, also if it cannot be
read: a proxy may have changed it (203), or sent a part of it (206)."""

DIGITS = 38
"""The maximum length of a code that is sent as a number."""


def read_response(status: int, headers: Mapping[str, str], body: bytes) -> Outcome:
    """Return what a response means; nothing that a server can send makes this raise.

    Matches are sorted by confidence, ties as received; of equal codes the first is kept. A
    confidence is a number or the text of one; anything else, including NaN and infinities, is 0.
    A code sent as a whole number becomes its digits. The meaning of a success depends on
    ``status`` and ``body`` alone, so that a kept response can be read again years later.

    Args:
        status: the HTTP status.
        headers: the headers; only a refusal's matter.
        body: the bytes; more than `MAX_BODY` are unreadable.
    """
    content = _parsed(body)
    named = {name.lower(): value for name, value in headers.items()}
    if isinstance(content, dict) and _is_failure(content):
        return _charged(_failure(status, named, content), content)
    if 200 <= status <= 299:
        outcome = _success(content)
        if status not in WITHOUT_ANSWER or not isinstance(outcome, Unreadable):
            return outcome
    return _charged(_by_status(status, named, "") or _stray(status, named), content)


def is_whole(body: bytes) -> bool:
    """Return whether a body is a JSON object to its end; a part of one never is."""
    return not isinstance(_parsed(body), str)


def is_surely_free(status: int, body: bytes) -> bool:
    """Return whether a response was not billed, whatever the rest of its body says.

    It was refused for its account or for the rate limit. The rest of a JSON object might state
    another error, or a price.
    """
    return status in REFUSALS and b"{" not in body


def _parsed(body: bytes) -> dict[str, Any] | str:
    """Return the JSON object in a body, or the reason why there is none."""
    if len(body) > MAX_BODY:
        return f"the body is larger than {MAX_BODY:,} bytes"
    try:
        content = decoded(body.decode(json.detect_encoding(body), "replace"))
    except (ValueError, RecursionError):
        return "the body is not JSON, or not all of it arrived"
    return content if isinstance(content, dict) else "the body is not a JSON object"


def _is_failure(content: Mapping[str, Any]) -> bool:
    """Return whether a body is the service's error envelope, not a gateway's or a framework's."""
    success = content.get("success")
    return success is False or (success is None and _error(content) in KNOWN_ERRORS)


def _failure(status: int, headers: Mapping[str, str], content: Mapping[str, Any]) -> Outcome:
    error, message = _error(content), printable(content.get("message"))
    match error:
        case "VALIDATION_ERROR":
            return _priced(content, Refused(error, message, None))
        case "UNAUTHORIZED":
            return Unauthorized(message)
        case "INSUFFICIENT_BALANCE":
            return InsufficientBalance(message)
        case "RATE_LIMIT_EXCEEDED":
            return RateLimited(_wait(headers))
        case "INTERNAL_ERROR":
            return Passing(error, _wait(headers))
    if status == 403:
        return Unauthorized(message)
    if status >= 500 and status not in (502, 504):
        return Passing(error, _wait(headers))
    refused = Refused(error, message, None)
    return _by_status(status, headers, message) or _priced(content, refused)


def _by_status(status: int, headers: Mapping[str, str], message: str) -> Outcome | None:
    match status:
        case 401:
            return Unauthorized(message)
        case 402:
            return InsufficientBalance(message)
        case 429:
            return RateLimited(_wait(headers))
        case 408 | 425 | 503:
            return Passing(f"HTTP_{status}", _wait(headers))
    return Unconfirmed(f"HTTP_{status}") if 500 <= status <= 599 else None


def _stray(status: int, headers: Mapping[str, str]) -> Stray:
    if 300 <= status <= 399 and (target := printable(headers.get("location"))):
        return Stray(status, f"HTTP {status}, a redirect to {target}")
    match status:
        case 407:
            return Stray(status, "HTTP 407, from a proxy that wants a user and a password")
        case 413:
            return Stray(status, "HTTP 413, the text is too long for the service or a proxy")
    return Stray(status, f"HTTP {status}, not a response of the service")


def _charged(outcome: Outcome, content: dict[str, Any] | str) -> Outcome:
    """Return an outcome with the price that it states: any response may have been billed.

    An account without a valid key or enough money cannot have been charged, whatever is stated.
    """
    if isinstance(content, str) or not isinstance(outcome, CHARGEABLE):
        return outcome
    price = read_price(content)
    if not price.wrong and not price.cost:
        return outcome
    return Charged(outcome, price.cost if price.currency == "USD" else None)


def _success(content: dict[str, Any] | str) -> Outcome:
    if isinstance(content, str):
        return Unreadable(content, None)
    matches = _matches(content.get("data", ""))
    if matches is None or content.get("success") not in (None, True):
        return _priced(content, Unreadable("the body has no list of matches", None))
    return _paid(matches, read_price(content))


def _paid(matches: tuple[Match, ...], price: Price) -> Outcome:
    return _unusable(price, Answered(matches, None)) or Answered(matches, price.cost)


def _priced(content: Mapping[str, Any], ended: Refused | Unreadable) -> Outcome:
    """Return the end of a call with the price that its response states."""
    price = read_price(content)
    return _unusable(price, ended) or replace(ended, cost_usd=price.cost)


def _unusable(price: Price, ended: Ended) -> WrongCurrency | WrongPrice | None:
    """Return the end of a call whose price is not one in US dollars; None if it is."""
    if price.currency != "USD":
        return WrongCurrency(price.currency, ended)
    return WrongPrice(price.wrong, ended) if price.wrong else None


def _matches(items: object) -> tuple[Match, ...] | None:
    """Rank the items; null is an empty list. None: this is not a list of items with codes."""
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
    stated = number(value.strip()) if isinstance(value, str) else value
    confidence = float(stated) if isinstance(stated, Decimal) else 0.0
    return confidence if math.isfinite(confidence) else 0.0


def _error(content: Mapping[str, Any]) -> str:
    return printable(content.get("error")) or "UNKNOWN_ERROR"


def _text(value: object) -> str:
    """Return a text without lone surrogates; "" for what is not text."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode(errors="replace").decode()


def _wait(headers: Mapping[str, str]) -> float | None:
    """Return the most seconds that Retry-After asks for; None if it cannot be used.

    A date is measured from that of the response or, without one, from now.
    """
    stated = BETWEEN_WAITS.split(headers.get("retry-after", ""))
    waits = [_seconds(each.strip(), headers) for each in stated]
    return max((wait for wait in waits if wait is not None), default=None)


def _seconds(stated: str, headers: Mapping[str, str]) -> float | None:
    if NUMBER.fullmatch(stated):
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
