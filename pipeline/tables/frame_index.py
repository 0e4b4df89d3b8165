"""Corrects the index in pandas' metadata if fewer rows are written than were read."""

from __future__ import annotations

import json
from collections.abc import Mapping

__all__ = ["with_index_of"]

PANDAS = b"pandas"


def with_index_of(metadata: Mapping[bytes, bytes] | None, rows: int) -> dict[bytes, bytes]:
    """Return schema metadata in which a range index is no longer than the rows.

    pandas stores a range index as start, stop and step. If there are fewer rows, Arrow would drop
    it and make a new one.
    """
    entries = dict(metadata or {})
    try:
        notes = json.loads(entries.get(PANDAS, b"{}"))
        changed = [_shorten(index, rows) for index in notes.get("index_columns", [])]
    except (ValueError, AttributeError, KeyError, TypeError):
        return entries  # not written by pandas: keep it
    if any(changed):
        entries[PANDAS] = json.dumps(notes).encode()
    return entries


def _shorten(index: object, rows: int) -> bool:
    """Shorten a range index in place; return whether it was too long."""
    if not isinstance(index, dict) or index.get("kind") != "range":
        return False
    start, step = int(index["start"]), int(index["step"])
    if len(range(start, int(index["stop"]), step)) <= rows:
        return False
    index["stop"] = start + rows * step
    return True
