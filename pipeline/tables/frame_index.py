"""Keeps what pandas notes about a frame's index true when fewer rows are written."""

from __future__ import annotations

import json
from collections.abc import Mapping

__all__ = ["with_index_of"]

PANDAS = b"pandas"


def with_index_of(metadata: Mapping[bytes, bytes] | None, rows: int) -> dict[bytes, bytes]:
    """Return schema metadata in which a range index has no more steps than there are rows.

    pandas notes such an index as start, stop and step alone; where the rows are fewer, Arrow
    makes a frame with another index.
    """
    entries = dict(metadata or {})
    try:
        notes = json.loads(entries.get(PANDAS, b"{}"))
        changed = [_shorten(index, rows) for index in notes.get("index_columns", [])]
    except (ValueError, AttributeError, KeyError, TypeError):
        return entries  # not pandas' own: as it came
    if any(changed):
        entries[PANDAS] = json.dumps(notes).encode()
    return entries


def _shorten(index: object, rows: int) -> bool:
    """Give a range index in place another end; tell whether it was longer."""
    if not isinstance(index, dict) or index.get("kind") != "range":
        return False
    start, step = int(index["start"]), int(index["step"])
    if len(range(start, int(index["stop"]), step)) <= rows:
        return False
    index["stop"] = start + rows * step
    return True
