"""JSON as services send it: numbers to the last digit, and texts that no terminal acts upon."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

__all__ = ["NUMBER", "decoded", "number", "printable"]

NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
NOT_A_NUMBER: Final = Decimal("NaN")


def number(text: str) -> Decimal:
    """Read a number that may stand in text; one that none can hold is NaN."""
    try:
        return Decimal(text) if NUMBER.fullmatch(text) else NOT_A_NUMBER
    except InvalidOperation:
        return NOT_A_NUMBER


JSON = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal, parse_constant=number, strict=False)
CAREFUL_JSON = json.JSONDecoder(
    parse_float=number, parse_int=number, parse_constant=number, strict=False
)
"""Slower; `Decimal` raises where a number's exponent is beyond all bounds."""


def decoded(text: str) -> Any:
    """Read JSON without a float in between; a number that none can hold is NaN.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    try:
        return JSON.decode(text)
    except InvalidOperation:  # one number is no reason to lose the matches
        return CAREFUL_JSON.decode(text)


def printable(value: object) -> str:
    """Return a text of the service as one short line that no terminal acts upon."""
    text = value[:300] if isinstance(value, str) else ""
    return "".join(character if character.isprintable() else " " for character in text).strip()
