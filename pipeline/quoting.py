"""Quotes in messages what a file says, no longer than anybody reads."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["LONGEST", "cut", "listed", "quoted"]

LONGEST = 40
"""Characters of a name that a message repeats."""

MOST = 20
"""Names that a message lists."""


def cut(text: str) -> str:
    """Return a text, cut if it is long."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def quoted(name: str) -> str:
    """Return a name in quotes, cut if it is long."""
    return repr(name) if len(name) <= LONGEST else f"{name[:LONGEST]!r}..."


def listed(names: Sequence[str]) -> str:
    """Return names in quotes, with commas; of many the first."""
    shown = ", ".join(map(quoted, names[:MOST]))
    more = len(names) - MOST
    return f"{shown} and {more:,} more" if more > 0 else shown
