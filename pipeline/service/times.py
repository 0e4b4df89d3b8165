"""Times for programs, in the log, in statements and on pages."""

from __future__ import annotations

from datetime import UTC, datetime


def iso(at: float) -> str:
    """Write a time in seconds since 1970 as ISO 8601, in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
