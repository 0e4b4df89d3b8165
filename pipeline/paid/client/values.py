"""Reads JSON as services send it: numbers to the last digit, texts that are safe to print."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

__all__ = ["NUMBER", "Repetitive", "decoded", "number", "printable"]

NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
NOT_A_NUMBER: Final = Decimal("NaN")


def number(text: str) -> Decimal:
    """Read a number; what is none, or too large for a `Decimal`, is NaN."""
    try:
        return Decimal(text) if NUMBER.fullmatch(text) else NOT_A_NUMBER
    except InvalidOperation:
        return NOT_A_NUMBER


class Repetitive(dict[str, Any]):
    """A JSON object that has some names more than once; it keeps the last value of each.

    Args:
        pairs: its names and values.

    Attributes:
        repeated: these names.
    """

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        times = Counter(name for name, _ in pairs)
        self.repeated = {name for name in self if times[name] > 1}


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repetitive(pairs)


JSON = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=Decimal,
    parse_int=Decimal,
    parse_constant=number,
    strict=False,
)
CAREFUL_JSON = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_float=number,
    parse_int=number,
    parse_constant=number,
    strict=False,
)
"""Slower, but accepts numbers whose exponent makes `Decimal` raise."""


def decoded(text: str) -> Any:
    """Read JSON with every number as a `Decimal`; one that is too large is NaN.

    An object that repeats a name is a `Repetitive`.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    try:
        return JSON.decode(text)
    except InvalidOperation:  # do not lose the matches because of one number
        return CAREFUL_JSON.decode(text)


def printable(value: object) -> str:
    """Return a text of the service as one short line without control characters."""
    text = value[:300] if isinstance(value, str) else ""
    return "".join(character if character.isprintable() else " " for character in text).strip()
