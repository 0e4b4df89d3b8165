"""The formats of the log: JSON, one object a line, or text that begins with time and level."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pipeline.progress import FIELDS
from pipeline.quoting import visible

__all__ = ["JsonLines", "TimedLines", "is_json", "is_timed", "json_line", "timed_line", "wanted"]

VARIABLE = "TENDER_PIPELINE_LOG_FORMAT"


class JsonLines(logging.Formatter):
    """Formats a record as one line: time (UTC), level, event, message, and the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        fields = {"event": "log", **getattr(record, FIELDS, {})}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json_line(record.levelname.lower(), record.getMessage(), record.created, **fields)


class TimedLines(logging.Formatter):
    """Begins each line with the time, as ``2026-01-31T02:15:00Z``, and the level."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        return visible(super().format(record))


def timed_line(text: str) -> str:
    """Return an error as a line of the log."""
    fields = {"levelname": "ERROR", "msg": text}
    return TimedLines().format(logging.makeLogRecord(fields))


def json_line(level: str, message: str, at: float | None = None, **fields: Any) -> str:
    """Return a line of the log about a moment, in seconds since 1970; without one, about now."""
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    when = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    event = {"event": fields.pop("event", "log")}
    return json.dumps({"time": when, "level": level, **event, "message": message, **fields})


def is_json() -> bool:
    """Return whether the log is written as JSON."""
    return _has_format(JsonLines)


def is_timed() -> bool:
    """Return whether the lines of the log begin with times."""
    return _has_format(TimedLines)


def _has_format(kind: type[logging.Formatter]) -> bool:
    return any(isinstance(each.formatter, kind) for each in logging.getLogger().handlers)


def wanted(args: Sequence[str]) -> bool:
    """Return whether arguments, of which some may be wrong, or the variable ask for JSON."""
    if "--log-format" in args[:-1]:
        return args[args.index("--log-format") + 1] == "json"
    asked = os.environ.get(VARIABLE, "").strip().lower() == "json"
    return "--log-format=json" in args or (asked and "--log-format=text" not in args)
