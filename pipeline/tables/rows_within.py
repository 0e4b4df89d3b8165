"""Says how to take the rows out of a JSON object that holds them in a list."""

from __future__ import annotations

import json
import shlex
from typing import Any

from pipeline.quoting import LONGEST, quoted

__all__ = ["with_rows_within"]

TAKE_OUT = "If the rows are in its list {}: jq {} FILE > ROWS.json."


def with_rows_within(hint: str, only: dict[str, Any]) -> str:
    """Return the hint about the only record of a file, which may hold the rows in a list."""
    lists = {key: len(value) for key, value in only.items() if isinstance(value, list)}
    name = max(lists, key=lists.__getitem__, default="")
    if not name or len(name) > LONGEST:
        return hint
    path = shlex.quote(f".{json.dumps(name)}")  # the file is not to be trusted
    take_out = TAKE_OUT.format(quoted(name), path)
    # A column in the list would join the texts of all rows to one.
    return take_out if f"'{name}." in hint else f"{hint} {take_out}".strip()
