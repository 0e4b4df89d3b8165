"""Parses the XML of a workbook's sheets and shared texts, piece by piece."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["COLUMNS", "ROWS", "Cell", "Row", "SheetXml", "StringsXml", "local_name"]

ROWS, COLUMNS, CHARACTERS = 1_048_576, 16_384, 32_767
"""Limits of a sheet and of a cell's text, as in spreadsheet programs."""

LETTERS = re.compile(r"[A-Z]{1,3}")
DIGITS = "0123456789"
VALUES = ("v", "t")
ESCAPED = re.compile(r"_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")
"""How a workbook writes a character that XML does not allow; surrogates are excluded."""

Kind: TypeAlias = Literal["number", "text", "bool", "error", "formula"]
"""What a cell holds; ``formula`` is one without a stored value."""

KINDS: Mapping[str, Kind] = {"n": "number", "b": "bool", "e": "error"}


class Cell(NamedTuple):
    """A cell.

    Attributes:
        kind: what it holds.
        text: its value as written in the file.
        style: the number of its cell format.
    """

    kind: Kind
    text: str
    style: int = 0


Row: TypeAlias = Mapping[int, Cell]
"""The non-empty cells of a row, by the number of their column, from 0."""


class _Texts:
    """Collects the texts of elements, without their phonetic hints (``rPh``).

    It is called millions of times: the official UNSPSC file has two million cells.
    """

    def __init__(self, holds: str) -> None:
        self._holds = holds
        self._parts: list[str] = []
        self._listens = False
        self._aside = False
        self._formula = False
        self._valued = False

    def start(self, name: str, values: dict[str, str]) -> None:
        """Start an element."""
        if ":" in name:
            name = local_name(name)
        if name in VALUES:
            self._listens = not self._aside
            self._valued = True
        elif name == self._holds:
            self._parts.clear()
            self._formula = self._valued = False
            self.begins(values)
        elif name == "rPh":
            self._aside = True
        elif name == "f":
            self._formula = True
        elif name == "row":
            self.row_begins(values)

    def text(self, text: str) -> None:
        """Take a text."""
        if self._listens:
            self._parts.append(text)

    def end(self, name: str) -> None:
        """End an element."""
        self._listens = False
        if ":" in name:
            name = local_name(name)
        if name == self._holds:
            self.ends(_whole(self._parts))
        elif name == "rPh":
            self._aside = False
        elif name == "row":
            self.row_ends()

    def begins(self, values: dict[str, str]) -> None:
        """Start the element that holds a text."""

    def ends(self, text: str) -> None:
        """End the element that holds a text."""
        raise NotImplementedError

    def row_begins(self, values: dict[str, str]) -> None:
        """Start a row."""

    def row_ends(self) -> None:
        """End a row."""


class StringsXml(_Texts):
    """Collects the texts that cells share."""

    def __init__(self) -> None:
        super().__init__("si")
        self.texts: list[str] = []

    def ends(self, text: str) -> None:
        """Keep a text."""
        self.texts.append(text)


class SheetXml(_Texts):
    """Collects the rows of a sheet, with their numbers, from 1."""

    def __init__(self, shared: Sequence[str]) -> None:
        super().__init__("c")
        self._shared = shared
        self._rows: list[tuple[int, Row]] = []
        self._number = 0
        self._row: dict[int, Cell] = {}
        self._column = -1
        self._kind = "n"
        self._style = 0

    def taken(self) -> list[tuple[int, Row]]:
        """Return the rows read since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def row_begins(self, values: dict[str, str]) -> None:
        """Note the row's number; rows without one follow each other."""
        number = int(values.get("r", self._number + 1))
        if number <= self._number:
            raise ValueError(f"row {number} comes after row {self._number}")
        if number > ROWS:
            raise ValueError(f"it has more than {ROWS:,} rows")
        self._number = number

    def begins(self, values: dict[str, str]) -> None:
        """Note the column and the type of a cell."""
        place = values.get("r")
        self._column = self._column + 1 if place is None else _column(place.rstrip(DIGITS))
        if self._column >= COLUMNS:
            raise ValueError(f"a row has more than {COLUMNS:,} columns")
        self._kind = values.get("t", "n")
        self._style = int(values.get("s", 0))

    def ends(self, text: str) -> None:
        """Keep a cell that is not empty."""
        # Tools that do not compute write no value, or an empty one that is not marked as text.
        valued = self._valued and (text or self._kind == "str")
        if self._formula and not valued:
            self._row[self._column] = Cell("formula", "", self._style)
        elif text := self._shared_text(text) if self._kind == "s" else text:
            self._row[self._column] = Cell(KINDS.get(self._kind, "text"), text, self._style)

    def row_ends(self) -> None:
        """Keep a row."""
        self._rows.append((self._number, self._row))
        self._row, self._column = {}, -1

    def _shared_text(self, text: str) -> str:
        if not (text.isascii() and text.isdigit() and int(text) < len(self._shared)):
            raise ValueError(f"there is no shared text {text[:20]!r}")
        return self._shared[int(text)]


def local_name(name: str) -> str:
    """Return an element's name without its namespace prefix."""
    return name.rpartition(":")[2] if ":" in name else name


def _whole(parts: Sequence[str]) -> str:
    text = "".join(parts)
    if len(text) > CHARACTERS:
        raise ValueError(f"a cell has more than {CHARACTERS:,} characters")
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


@lru_cache(maxsize=COLUMNS)
def _column(letters: str) -> int:
    """Return the number of a column, from 0, from its letters."""
    if not LETTERS.fullmatch(letters):
        raise ValueError(f"{letters[:20]!r} is not a column")
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1
