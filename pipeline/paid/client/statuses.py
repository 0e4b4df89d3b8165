"""What a response says by its status and its headers, whichever protocol its server speaks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pipeline.paid.client.outcomes import (
    InsufficientBalance,
    Outcome,
    Passing,
    RateLimited,
    Stray,
    Unauthorized,
    Unconfirmed,
)
from pipeline.paid.client.prices import NUMBER, parse_json_exact, printable

MAX_BODY: Final = 1 << 20
"""The largest body that is read, bytes; ten matches take about two thousand."""

LONGEST_WAIT = 24 * 3600.0
BETWEEN_WAITS = re.compile(r",(?! *[0-9]{1,2}[ -][A-Za-z])")
"""A comma that is not the one after a date's day of the week."""

WITHOUT_ANSWER = (202, 204, 205)
"""The successes that come instead of an answer. Any other one was paid for, also if it cannot be
read: a proxy may have changed it (203), or sent a part of it (206)."""


def json_object(body: bytes) -> dict[str, Any] | str:
    """Return the JSON object in a body, or the reason why there is none."""
    if len(body) > MAX_BODY:
        return f"the body is larger than {MAX_BODY:,} bytes"
    try:
        content = parse_json_exact(body.decode(json.detect_encoding(body), "replace"))
    except (ValueError, RecursionError):
        return "the body is not JSON, or not all of it arrived"
    return content if isinstance(content, dict) else "the body is not a JSON object"


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
        return Stray(status, f"HTTP {status}, a redirect to {target}")
    match status:
        case 407:
            return Stray(status, "HTTP 407, from a proxy that wants a user and a password")
        case 413:
            return Stray(status, "HTTP 413, the text is too long for the service or a proxy")
    return Stray(status, f"HTTP {status}, not a response of the service")


def stated_wait(headers: Mapping[str, str]) -> float | None:
    """Return the most seconds that Retry-After asks for; None if it cannot be used.

    A date is measured from that of the response or, without one, from now.
    """
    stated = BETWEEN_WAITS.split(headers.get("retry-after", ""))
    waits = [_seconds(part.strip(), headers) for part in stated]
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
