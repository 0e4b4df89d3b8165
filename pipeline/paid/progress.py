"""Writes how long something takes as people say it."""

from __future__ import annotations

__all__ = ["duration"]


def duration(seconds: float) -> str:
    """Format a duration for people: ``24 h``, ``90 min``."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"
