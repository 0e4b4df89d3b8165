"""A log that programs read: a JSON object on each line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

FIELDS = "fields"
"""The name in `extra` for what else a line of the log has for programs."""


class JsonLines(logging.Formatter):
    """Formats a record as one line: time (UTC), level, message, its fields and a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        line: dict[str, Any] = {
            "time": iso(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage().strip(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info and record.exc_info[1]:
            line["traceback"] = self.traceback(record.exc_info[1])
        return json.dumps(line)

    def traceback(self, error: BaseException) -> str:
        """Return the traceback of an error."""
        return self.formatException((type(error), error, error.__traceback__))


def iso(at: float) -> str:
    """Write a time in seconds since 1970 as ISO 8601, in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
