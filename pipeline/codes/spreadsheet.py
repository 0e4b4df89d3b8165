"""Reads the first sheet of an .xlsx workbook row by row, in bounded memory.

Existing readers allocate a sheet's whole extent: a file of 1,500 bytes with one cell in the last
corner asks for 17 billion cells and aborts the process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from posixpath import normpath
from typing import BinaryIO, TypeAlias
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

__all__ = ["Cells", "sheet_rows"]

Cells: TypeAlias = Mapping[int, str]
"""The non-empty cells of a row, by the number of their column, from 0."""

FILE_BYTES = 128 * 2**20
PART_BYTES = 512 * 2**20
STRINGS_BYTES = 128 * 2**20
"""Limits in bytes for a workbook, an uncompressed part of it, and the part with shared texts:
several times the size of the official file."""

ROWS, COLUMNS, CHARACTERS = 1_048_576, 16_384, 32_767
"""Limits of a sheet and of a cell's text, as in spreadsheet programs."""

CHUNK = 2**16

LETTERS = re.compile(r"[A-Z]{1,3}")
DIGITS = "0123456789"
VALUES = ("v", "t")
ESCAPED = re.compile(r"_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")
"""How a workbook writes a character that XML does not allow; surrogates are excluded."""

OLD = b"\xd0\xcf\x11\xe0"
NO_WORKBOOK = "it is not a complete .xlsx workbook; save it as .xlsx or .csv"

WORKBOOK, LINKS, STRINGS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml"


def sheet_rows(file: BinaryIO) -> Iterator[Cells]:
    """Yield the rows of the first sheet that the workbook contains.

    Raises:
        ValueError, RuntimeError, OSError, EOFError, BadZipFile, ExpatError, zlib.error: the file is
            not such a workbook, or is damaged, encrypted or too large.
    """
    _check_file(file)
    with ZipFile(file) as archive:
        parts = {info.filename.lower(): info for info in archive.infolist()}
        shared = _Strings()
        if STRINGS.lower() in parts:
            for _ in _parsed(archive, _part(parts, STRINGS), shared, STRINGS_BYTES):
                pass
        sheet = _Sheet(shared.texts)
        for _ in _parsed(archive, _part(parts, _first_sheet(archive, parts)), sheet, PART_BYTES):
            yield from sheet.taken()


def _check_file(file: BinaryIO) -> None:
    first = file.read(len(OLD))
    if first == OLD:
        raise ValueError("it is an old (.xls) or a protected workbook; save it as .xlsx or .csv")
    if not first.startswith(b"PK"):
        raise ValueError(NO_WORKBOOK)
    if file.seek(0, 2) > FILE_BYTES:
        raise ValueError(f"it has more than {FILE_BYTES >> 20} MiB")


def _first_sheet(archive: ZipFile, parts: Mapping[str, ZipInfo]) -> str:
    """Return the name of the first sheet's part."""
    found: list[str] = []
    links: dict[str, str] = {}

    def see(name: str, values: dict[str, str]) -> None:
        if name == "sheet":
            found.extend(value for key, value in values.items() if key.endswith(":id"))
        elif name == "Relationship":
            links[values.get("Id", "")] = values.get("Target", "")

    for part in (WORKBOOK, LINKS):
        for _ in _parsed(archive, _part(parts, part), _Elements(see), STRINGS_BYTES):
            pass
    if not found or found[0] not in links:
        raise ValueError("it has no sheet")
    return normpath(PurePosixPath("/xl", links[found[0]])).lstrip("/")


def _part(parts: Mapping[str, ZipInfo], name: str) -> ZipInfo:
    if name.lower() not in parts:
        raise ValueError(NO_WORKBOOK)
    info = parts[name.lower()]
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others may need unbounded memory
        raise ValueError(f"{name} has a compression that workbooks do not use")
    return info


class _Elements:
    """Passes the elements of an XML part to a function."""

    def __init__(self, see: Callable[[str, dict[str, str]], None]) -> None:
        self._see = see

    def start(self, name: str, values: dict[str, str]) -> None:
        self._see(_local(name), values)

    def text(self, text: str) -> None:
        pass

    def end(self, name: str) -> None:
        pass


class _Texts:
    """Collects the texts of elements, without their phonetic hints (``rPh``).

    It is called millions of times: the official file has two million cells.
    """

    def __init__(self, holds: str) -> None:
        self._holds = holds
        self._parts: list[str] = []
        self._listens = False
        self._aside = False

    def start(self, name: str, values: dict[str, str]) -> None:
        if ":" in name:
            name = _local(name)
        if name in VALUES:
            self._listens = not self._aside
        elif name == self._holds:
            self._parts.clear()
            self.begins(values)
        elif name == "rPh":
            self._aside = True

    def text(self, text: str) -> None:
        if self._listens:
            self._parts.append(text)

    def end(self, name: str) -> None:
        self._listens = False
        if ":" in name:
            name = _local(name)
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

    def row_ends(self) -> None:
        """End a row."""


class _Strings(_Texts):
    """Collects the texts that cells share."""

    def __init__(self) -> None:
        super().__init__("si")
        self.texts: list[str] = []

    def ends(self, text: str) -> None:
        self.texts.append(text)


class _Sheet(_Texts):
    """Collects the rows of a sheet."""

    def __init__(self, shared: Sequence[str]) -> None:
        super().__init__("c")
        self._shared = shared
        self._rows: list[Cells] = []
        self._seen = 0
        self._row: dict[int, str] = {}
        self._column = -1
        self._kind = "n"

    def taken(self) -> list[Cells]:
        """Return the rows read since the last call."""
        rows, self._rows = self._rows, []
        return rows

    def begins(self, values: dict[str, str]) -> None:
        place = values.get("r")
        self._column = self._column + 1 if place is None else _column(place.rstrip(DIGITS))
        if self._column >= COLUMNS:
            raise ValueError(f"a row has more than {COLUMNS:,} columns")
        self._kind = values.get("t", "n")

    def ends(self, text: str) -> None:
        if text := self._cell(text):
            self._row[self._column] = text

    def row_ends(self) -> None:
        self._rows.append(self._row)
        self._row, self._column = {}, -1
        self._seen += 1
        if self._seen > ROWS:
            raise ValueError(f"it has more than {ROWS:,} rows")

    def _cell(self, text: str) -> str:
        if self._kind == "n":
            return _number(text)
        if self._kind != "s":
            return text
        if not (text.isascii() and text.isdigit() and int(text) < len(self._shared)):
            raise ValueError(f"there is no shared text {text[:20]!r}")
        return self._shared[int(text)]


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


def _number(text: str) -> str:
    """Return a number as text: some files store codes as numbers, such as 10101501.0."""
    if text.isdecimal():
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    return str(int(value)) if value.is_integer() else text


def _parsed(
    archive: ZipFile, info: ZipInfo, handler: _Elements | _Texts, most: int
) -> Iterator[None]:
    """Parse a part of a workbook chunk by chunk, up to a limit of uncompressed bytes."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    unpacked = 0
    with archive.open(info) as part:
        while chunk := part.read(CHUNK):
            unpacked += len(chunk)
            if unpacked > most:
                raise ValueError(f"{info.filename} has more than {most >> 20} MiB")
            parser.Parse(chunk)
            yield
    parser.Parse(b"", True)
    yield


def _local(name: str) -> str:
    return name.rpartition(":")[2] if ":" in name else name


def _refuse_doctype(*_: object) -> None:
    """Refuse document types: workbooks have none, and entities can expand to gigabytes."""
    raise ValueError("it declares a document type")
