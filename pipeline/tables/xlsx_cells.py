"""Reads the values of workbook cells: numbers, dates, texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from pipeline.files.sheet_xml import Cell
from pipeline.files.workbook import NumberFormat

__all__ = ["EPOCH", "FIRST_DAY", "TYPES", "CellValues", "Kind", "column_letters", "merged"]

Kind: TypeAlias = Literal["null", "bool", "int", "float", "date", "datetime", "text"]
"""What the cells of a column hold."""

TYPES: dict[Kind, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "date": pa.date32(),
    "datetime": pa.timestamp("ms"),
}
"""The Arrow types of columns; others are text."""

EPOCH, EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)

FIRST_DAY, LAST_DAY = 61, 2_958_466
"""The days from March 1900, before which Excel counts a leap day that never was, to 9999."""

DATES = {*range(14, 18), 22, *range(27, 37), *range(50, 59)}
TIMES = {18, 19, 20, 21}
"""Built-in number formats, by their number."""

IGNORED = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]|;.*', re.IGNORECASE | re.DOTALL)
"""Parts of a format code that are not placeholders: quoted and escaped text, colours, locales, and
the formats of other values."""

WHOLE = 2**53
"""The first whole number whose neighbours a float cannot tell apart."""


@dataclass(frozen=True, slots=True)
class CellValues:
    """Interprets the cells of one workbook.

    Attributes:
        formats: the number format of each cell format.
        from_1904: whether dates count from 1904.
    """

    formats: Sequence[NumberFormat]
    from_1904: bool

    def format_of(self, cell: Cell) -> NumberFormat:
        """Return the number format of a cell; 0 for none."""
        return self.formats[cell.style] if cell.style < len(self.formats) else 0

    def kind(self, cell: Cell) -> Kind:
        """Return what a cell holds.

        Raises:
            ValueError: the cell is a number that cannot be read.
        """
        if cell.kind == "bool":
            return "bool"
        if cell.kind != "number":
            return "text"
        match self._part(cell):
            case "date":
                when = self._moment(cell)
                return "text" if when is None else _kind_of_moment(when)
            case "time":
                return "text"
            case _:
                value = float(cell.text)
                if not isfinite(value):  # a number that no float holds
                    return "text"
                return "int" if value.is_integer() and abs(value) <= WHOLE else "float"

    def text(self, cell: Cell) -> str:
        """Return a cell as text: dates as ISO 8601, booleans as true and false."""
        if cell.kind == "bool":
            return "true" if cell.text == "1" else "false"
        if cell.kind != "number":
            return cell.text
        part = self._part(cell)
        when = self._moment(cell) if part else None
        if when is None:
            value = float(cell.text)
            return _number(value) if isfinite(value) else cell.text
        if part == "time":
            return when.time().isoformat()
        if _kind_of_moment(when) == "date":
            return when.date().isoformat()
        return when.isoformat(" ")

    def value(self, cell: Cell, kind: Kind) -> Any:
        """Return a cell as a value for a column of a kind."""
        match kind:
            case "bool":
                return cell.text == "1"
            case "int":
                return int(float(cell.text))
            case "float":
                return float(cell.text)
            case "date" | "datetime":
                return self._moment(cell)
            case _:
                return self.text(cell)

    def _part(self, cell: Cell) -> Literal["date", "time"] | None:
        return _part_of(self.format_of(cell))

    def _moment(self, cell: Cell) -> datetime | None:
        """Return the moment that a number stands for; None if it is not a date or a time."""
        days = float(cell.text)
        if self._part(cell) == "time":
            return EPOCH + _days(days) if 0 <= days < 1 else None
        if self.from_1904:
            return EPOCH_1904 + _days(days) if 0 <= days < LAST_DAY - 1462 else None
        return EPOCH + _days(days) if FIRST_DAY <= days < LAST_DAY else None


def merged(one: Kind, other: Kind) -> Kind:
    """Return the kind that holds the values of two kinds unchanged."""
    kinds = {one, other} - {"null"}
    if len(kinds) < 2:
        return kinds.pop() if kinds else "null"
    if kinds == {"int", "float"}:
        return "float"
    return "datetime" if kinds == {"date", "datetime"} else "text"


def column_letters(column: int) -> str:
    """Return the letters of a column, numbered from 0."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


@lru_cache(maxsize=1024)
def _part_of(form: NumberFormat) -> Literal["date", "time"] | None:
    """Return whether a number format shows a date or a time of day."""
    if isinstance(form, int):
        return "date" if form in DATES else "time" if form in TIMES else None
    shown = IGNORED.sub("", form).lower()
    if shown == "general" or "[" in shown:  # an elapsed time is a number
        return None
    hours = set(shown) & {"h", "s"}
    if set(shown) & {"y", "d"} or ("m" in shown and not hours):
        return "date"
    return "time" if hours else None


def _days(days: float) -> timedelta:
    return timedelta(milliseconds=round(days * 86_400_000))


def _kind_of_moment(when: datetime) -> Literal["date", "datetime"]:
    return "datetime" if when.time() != EPOCH.time() else "date"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) <= WHOLE else repr(value)
