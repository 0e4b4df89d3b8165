"""Times as the commands print them: for people, and in JSON."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["iso", "utc"]


def utc(seconds: float | None) -> str:
    """Return a time since 1970 for people, such as ``2026-01-31 02:15:00``; "" for None."""
    found = iso(seconds)
    return "" if found is None else found[:19].replace("T", " ")


def iso(seconds: float | None) -> str | None:
    """Return a time since 1970 in ISO 8601; damaged books may hold any number."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return "no time"
