"""The service's log: a JSON object a line, in which nothing of what people send is quoted."""

from __future__ import annotations

import json
import logging
import sqlite3
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from pipeline.service.times import iso

__all__ = ["FIELDS", "JsonLines", "set_up"]

FIELDS = "fields"
"""What `extra` calls the further fields of a line."""

TELLING = (OSError, sqlite3.Error)
"""Errors whose messages are of the machine. Those of others may quote a text: `KeyError` does."""

FRAMES = 40
"""So many frames are told, the last: an error that many wait for collects those of each."""


def set_up() -> None:
    """Write the log of the whole process to standard error, from level INFO on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


class JsonLines(logging.Formatter):
    """Formats a record as one line: time, level, message, its fields and a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        line: dict[str, Any] = {
            "time": iso(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage().strip(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info and record.exc_info[1]:
            line["traceback"] = _traceback(record.exc_info[1])
        return json.dumps(line)


def _traceback(error: BaseException) -> str:
    """Tell where an error comes from, the first cause first, and only its type if it may quote."""
    return "\n".join(reversed([_told(one) for one in _chain(error)]))


def _told(error: BaseException) -> str:
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    said = f"{kind}: {error}" if isinstance(error, TELLING) else kind
    return "".join(traceback.format_tb(error.__traceback__, -FRAMES)) + said


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
