"""The service's log: a JSON object per line, which never quotes what clients send."""

from __future__ import annotations

import json
import logging
import sqlite3
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import msgspec

from pipeline.progress import FIELDS
from pipeline.service.times import iso

__all__ = ["JsonLines", "set_up"]

TELLING = (OSError, sqlite3.Error)
"""Errors whose messages never quote a text; others may, as `KeyError` does."""

FRAMES = 40
"""The last frames that a traceback shows; an error that many await collects those of each."""

FRAME = "  File "
"""Begins each frame of a traceback."""

A_MINUTE = 60.0

MOST = 100
"""Failures that are remembered: each is some kilobytes, and a message may name any file."""


def set_up() -> None:
    """Log to standard error, from level INFO on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


class JsonLines(logging.Formatter):
    """Formats a record as one line: time, level, message, its fields and a traceback.

    Every call fails while the disk is full, so the traceback of an error that was logged within the
    last minute is its last line only.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[frozenset[str], float] = {}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        line: dict[str, Any] = {
            "time": iso(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage().strip(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info and record.exc_info[1]:
            told = _traceback(record.exc_info[1])
            is_new = self._is_new(told, record.created)
            line["traceback"] = told if is_new else told.rpartition("\n")[2]
        try:  # it takes a fifth of the time of `json.dumps`, and writes the same
            return msgspec.json.format(msgspec.json.encode(line), indent=0).decode("ascii")
        except UnicodeError:
            return json.dumps(line)  # it escapes what is not ASCII

    def _is_new(self, told: str, at: float) -> bool:
        """Return whether a traceback was not logged in the minute before."""
        self._logged = {
            one: when for one, when in self._logged.items() if abs(at - when) < A_MINUTE
        }
        frames = frozenset(told.split(FRAME))  # each that awaits an error adds its own once more
        is_new = frames not in self._logged
        if is_new and len(self._logged) < MOST:
            self._logged[frames] = at
        return is_new


def _traceback(error: BaseException) -> str:
    """Return the traceback, the first cause first, without messages that may quote a text."""
    return "\n".join(reversed([_told(one) for one in _chain(error)]))


def _told(error: BaseException) -> str:
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    cause = f"{kind}: {error}" if isinstance(error, TELLING) else kind
    return "".join(traceback.format_tb(error.__traceback__, -FRAMES)) + cause


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
