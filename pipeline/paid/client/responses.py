"""Reads responses: the one module that knows the interface's bodies and status codes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from pipeline.answers import Match
from pipeline.paid.client.chat_responses import read_chat, read_record
from pipeline.paid.client.outcomes import (
    WITHOUT_ANSWER,
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
    WrongPrice,
    by_status,
    json_object,
    stated_wait,
    stray,
)
from pipeline.paid.client.prices import number, printable, read_price

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
    named = {name.lower(): value for name, value in headers.items()}
    if (record := read_record(body)) is not None:
        return read_chat(status, named, *record)
    content = json_object(body)
    if isinstance(content, dict) and _is_failure(content):
        return _with_charge(_failure(status, named, content), content)
    if 200 <= status <= 299:
        outcome = _success(content)
        if status not in WITHOUT_ANSWER or not isinstance(outcome, Unreadable):
            return outcome
    return _with_charge(by_status(status, named, "") or stray(status, named), content)


def is_whole(body: bytes) -> bool:
    """Return whether a body is a JSON object to its end; a part of one never is."""
    return not isinstance(json_object(body), str)


def is_surely_free(status: int, body: bytes) -> bool:
    """Return whether a response was not billed, whatever the rest of its body says.

    It was refused for its account or for the rate limit. The rest of a JSON object might state
    another error, or a price.
    """
    return status in REFUSALS and b"{" not in body


def _is_failure(content: Mapping[str, Any]) -> bool:
    """Return whether a body is the service's error envelope, not a gateway's or a framework's."""
    success = content.get("success")
    return success is False or (success is None and _error(content) in KNOWN_ERRORS)


def _failure(status: int, headers: Mapping[str, str], content: Mapping[str, Any]) -> Outcome:
    error, message = _error(content), printable(content.get("message"))
    match error:
        case "VALIDATION_ERROR":
            return _with_price(content, Refused(error, message, None))
        case "UNAUTHORIZED":
            return Unauthorized(message)
        case "INSUFFICIENT_BALANCE":
            return InsufficientBalance(message)
        case "RATE_LIMIT_EXCEEDED":
            return RateLimited(stated_wait(headers))
        case "INTERNAL_ERROR":
            return Passing(error, stated_wait(headers))
    if status == 403:
        return Unauthorized(message)
    if status >= 500 and status not in (502, 504):
        return Passing(error, stated_wait(headers))
    refused = Refused(error, message, None)
    return by_status(status, headers, message) or _with_price(content, refused)


def _with_charge(outcome: Outcome, content: dict[str, Any] | str) -> Outcome:
    """Return an outcome with the price that it states: any response may have been billed.

    An account without a valid key or enough money cannot have been charged, whatever is stated.
    """
    if isinstance(content, str) or not isinstance(outcome, CHARGEABLE):
        return outcome
    price = read_price(content)
    if price.cost == 0 or (price.cost is None and not price.wrong):
        return outcome
    return Charged(outcome, None if price.wrong else price.cost)


def _success(content: dict[str, Any] | str) -> Outcome:
    if isinstance(content, str):
        return Unreadable(content, None)
    matches = _matches(content.get("data", ""))
    if matches is None or content.get("success") not in (None, True):
        return _with_price(content, Unreadable("the body has no list of matches", None))
    return _with_price(content, Answered(matches, None))


def _with_price(content: Mapping[str, Any], ended: Ended) -> Outcome:
    """Return the end of a call with the price that its response states."""
    price = read_price(content)
    return WrongPrice(price.wrong, ended) if price.wrong else replace(ended, cost_usd=price.cost)


def _matches(items: object) -> tuple[Match, ...] | None:
    """Rank the items; null is an empty list. None: this is not a list of items with codes."""
    if items is not None and not isinstance(items, list):
        return None
    matches = [match for item in items or () if isinstance(item, dict) and (match := _match(item))]
    best: dict[str, Match] = {}
    for match in sorted(matches, key=lambda match: -match.confidence):
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
