"""Times for programs, in the log, in statements and on pages."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

__all__ = ["iso"]


def iso(at: float) -> str:
    """Write a time in seconds since 1970 as ISO 8601, in UTC, to the millisecond."""
    seconds, micros = divmod(round(at * 1_000_000), 1_000_000)
    return f"{_second(seconds)}.{micros // 1000:03}Z"


@lru_cache(1)  # a busy log has many lines of the same second
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()[:-6]
