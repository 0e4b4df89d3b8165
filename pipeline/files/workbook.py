"""Opens Excel workbooks: their sheets, how far each reaches, and its cells.

python-calamine reads the cells, and makes room for the whole extent of a sheet: a file of 1,500
bytes with one cell in the last corner asks for 17 billion cells and aborts the process. So the XML
of a sheet is looked through first. That also finds what python-calamine does not report: errors
such as #N/A, and formulas that were never calculated.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from posixpath import basename, dirname, join, normpath
from typing import BinaryIO, NamedTuple, TypeAlias
from xml.etree import ElementTree
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook, load_workbook

from pipeline.files.regular import open_regular

ROWS, COLUMNS, CHARACTERS = 1_048_576, 16_384, 32_767
"""Limits of a sheet and of a cell's text, as in spreadsheet programs."""

FILE_BYTES, PART_BYTES, INDEX_BYTES = 2**30, 2**32, 2**24
"""Limits: of a workbook, of an uncompressed part of it, and of those that list the sheets."""

SMALL, MOST_TIMES = 2**26, 200
"""A part over 64 MiB that is this many times as large as in the file is not unpacked. Sheets shrink
to a tenth; only a "zip bomb" shrinks to a thousandth."""

MOST_CELLS = 2**26
"""The largest extent of a sheet, in cells from A1: python-calamine takes 31 bytes even for an empty
one."""

CHUNK = 2**16

NO_WORKBOOK = (
    "it is not a complete .xlsx workbook; check that the file is complete, rename it if it is a "
    ".csv file, or save it as .xlsx without a password"
)

ERRORS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")
"""The errors that python-calamine knows; it refuses a sheet with another one."""

DIGITS = "0123456789"

UNREADABLE = (
    ValueError,
    RuntimeError,
    OSError,
    EOFError,
    CalamineError,
    BadZipFile,
    ElementTree.ParseError,
    expat.ExpatError,
    zlib.error,
)
"""What reading a file raises that is no such workbook, or is damaged, encrypted or too large."""


class CellError(str):
    """An error value such as #N/A."""

    __slots__ = ()


Value: TypeAlias = str | float | bool | date | datetime | time | timedelta
"""The value of a cell; "" for an empty one."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook, and the part of the file that it is in."""

    name: str
    hidden: bool
    part: ZipInfo


@dataclass(slots=True)
class Grid:
    """The cells of a sheet, in memory.

    Attributes:
        uncomputed: the row, from 1, and the column, from 0, of the last formula without a stored
            value; (0, 0) without one.
    """

    uncomputed: tuple[int, int]
    _cells: CalamineSheet
    _errors: Mapping[int, Mapping[int, CellError]]

    @property
    def merged(self) -> Mapping[tuple[int, int], int]:
        """The last row of cells that are merged over rows, by their first row and column.

        Rows count from 1, columns from 0.
        """
        ranges = self._cells.merged_cell_ranges or ()
        return {(top + 1, left): bottom + 1 for (top, left), (bottom, _) in ranges if bottom > top}

    def rows(self) -> Iterator[Sequence[Value]]:
        """Yield the rows from the first one to the last one with a value, by column from 0.

        Raises:
            ValueError: a number is far before all dates, but has the number format of one.
        """
        before: list[Value] = [""] * (self._cells.start or (0, 0))[1]
        number = 0
        try:
            for number, cells in enumerate(self._cells.iter_rows(), 1):
                row: list[Value] = [*before, *cells] if before else [*cells]
                for column, error in self._errors.get(number, {}).items():
                    row += [""] * (column + 1 - len(row))
                    row[column] = error
                yield row
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # which Python code cannot import
                raise
            raise ValueError(
                f"row {number + 1} has a number that is out of range for a date"
            ) from error


class RowXml(NamedTuple):
    """The XML of a row.

    Attributes:
        number: its number, from 1; after the last row, more than a sheet has.
        tag: the name of its element.
        lead: what comes before it.
        start: the start of its element.
        cells: its cells up to the first free column.
        after: its further cells, which have no values.
    """

    number: int
    tag: bytes
    lead: bytes
    start: bytes = b""
    cells: bytes = b""
    after: bytes = b""


class Workbook:
    """An open workbook; a context manager.

    Attributes:
        archive: the file.
        sheets: its sheets, in their order.

    Raises:
        UNREADABLE: the file is not such a workbook.
    """

    def __init__(self, path: Path) -> None:
        with ExitStack() as stack:
            file = stack.enter_context(open_regular(path))
            _check_file(file)
            self.archive = stack.enter_context(ZipFile(file))
            self._parts = {_plain(part.filename): part for part in self.archive.infolist()}
            if len(self._parts) < len(self.archive.infolist()):
                raise ValueError("it has two parts of the same name")
            for part in self._parts.values():
                _check_part(part)
            self.sheets = self._sheets()
            self._file = file
            self._closing = stack.pop_all()

    def __enter__(self) -> Workbook:
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.close()

    def grid(self, sheet: Sheet) -> Grid:
        """Read the cells of a sheet.

        Raises:
            UNREADABLE: the sheet is damaged, or reaches too far.
        """
        scan = _SheetXml()
        try:
            for _ in self._parse(sheet, scan):
                scan.rows.clear()
            scan.check_extent()
        except ValueError as error:
            raise ValueError(f"sheet {sheet.name[:40]!r}: {error}") from error
        return Grid(scan.uncomputed, self._cells.get_sheet_by_name(sheet.name), scan.errors)

    @cached_property
    def _cells(self) -> CalamineWorkbook:
        self._file.seek(0)
        return load_workbook(self._file)

    def row_xml(self, sheet: Sheet, first_free: int) -> Iterator[RowXml]:
        """Yield the XML of a sheet row by row, then what comes after the last row.

        ``first_free`` is the first column without a value, from 0.
        """
        scan = _SheetXml(first_free)
        buffer, offset, tag = bytearray(), 0, b"row"
        for chunk in self._parse(sheet, scan):
            buffer += chunk
            done = 0
            for number, tag, *positions in scan.rows:
                begin, free, end = (position - offset for position in positions)
                lead, done = bytes(buffer[done:begin]), end
                if buffer.startswith(b"</%b" % tag, end):
                    done = buffer.index(b">", end) + 1
                    inner = buffer.index(b">", begin) + 1
                    cuts = (begin, inner), (inner, free), (free, end)
                    yield RowXml(number, tag, lead, *(bytes(buffer[a:b]) for a, b in cuts))
                else:  # a single tag, without content: the place is behind it
                    start = bytes(buffer[begin:end]).removesuffix(b"/>") + b">"
                    yield RowXml(number, tag, lead, start)
            scan.rows.clear()
            del buffer[:done]
            offset += done
        yield RowXml(ROWS + 1, tag, bytes(buffer))

    def _parse(self, sheet: Sheet, scan: _SheetXml) -> Iterator[bytes]:
        """Yield the XML of a sheet, in pieces that the scan has seen."""
        with self.archive.open(sheet.part) as part:
            while chunk := part.read(CHUNK):
                scan.parser.Parse(chunk)
                yield chunk
            scan.parser.Parse(b"", True)

    def _sheets(self) -> list[Sheet]:
        top = [part for kind, part in self._links("").values() if kind.endswith("/officeDocument")]
        index = top[0] if top else "xl/workbook.xml"
        if basename(_plain(index)) != "workbook.xml":  # which python-calamine does not find
            raise ValueError(f"its main part is {basename(index)}; save it as .xlsx again")
        links = self._links(index)
        sheets = []
        for element in self._xml(index).iterfind(".//{*}sheet"):
            link = next((value for key, value in element.items() if key.endswith("}id")), "")
            kind, target = links.get(link, ("", ""))
            if kind.endswith("/worksheet"):
                hidden = element.get("state") in ("hidden", "veryHidden")
                sheets.append(Sheet(element.get("name", ""), hidden, self._part(target)))
        if not sheets:
            raise ValueError("it has no sheet")
        if len({sheet.name for sheet in sheets}) < len(sheets):
            raise ValueError("it has two sheets of the same name")
        return sheets

    def _links(self, part: str) -> Mapping[str, tuple[str, str]]:
        """Return the kinds and the targets of the links of a part, by their names."""
        folder = dirname(part)
        name = join(folder, "_rels", f"{basename(part)}.rels")
        if _plain(name) not in self._parts:
            return {}
        return {
            link.get("Id", ""): (
                link.get("Type", ""),
                normpath(join("/", folder, link.get("Target", ""))).lstrip("/"),
            )
            for link in self._xml(name).iterfind("{*}Relationship")
        }

    def _xml(self, name: str) -> ElementTree.Element:
        part = self._part(name)
        _check_size(part, INDEX_BYTES)
        content = self.archive.read(part)
        if b"<!DOCTYPE" in content:
            _refuse_doctype()
        try:
            return ElementTree.fromstring(content)  # noqa: S314 - it has no entities
        except LookupError as error:
            raise ValueError(f"{name} has an {error}; save it as .xlsx again") from error

    def _part(self, name: str) -> ZipInfo:
        if _plain(name) not in self._parts:
            raise ValueError(NO_WORKBOOK)
        return self._parts[_plain(name)]


class _SheetXml:
    """Looks through the XML of a sheet.

    It is called millions of times: the official UNSPSC file has two million cells.

    Attributes:
        rows: the number of each row, the name of its element, and where, in bytes, it begins, where
            its cells from the first free column do, and where it ends.
        uncomputed: see `Grid`.
        errors: the errors by row, from 1, and column, from 0.
    """

    def __init__(self, first_free: int = COLUMNS) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = _refuse_doctype
        self.parser.XmlDeclHandler = _check_encoding
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.rows: list[tuple[int, bytes, int, int, int]] = []
        self.uncomputed = (0, 0)
        self.errors: dict[int, dict[int, CellError]] = {}
        self._first_free = first_free
        self._last_row = self._last_column = 0  # with a value
        self._row = self._begin = self._free = 0
        self._row_digits = ""
        self._column = -1
        self._kind = "n"
        self._formula = self._valued = False
        self._text: list[str] = []

    def check_extent(self) -> None:
        """Refuse a sheet that python-calamine has no room for."""
        if self._last_row * (self._last_column + 1) > MOST_CELLS:
            raise ValueError(
                f"its cells reach to {column_letters(self._last_column)}{self._last_row}, and more "
                f"than {MOST_CELLS:,} are too many; delete those far from the table, or save it as "
                ".csv"
            )

    def _start(self, name: str, values: dict[str, str]) -> None:
        if ":" in name:
            name = name.rpartition(":")[2]
        if name == "c":
            self._start_cell(values.get("r"))
            self._kind = values.get("t", "n")
        elif name == "v" or name == "is":
            self._valued = True
            if self._formula or self._kind == "e":
                self.parser.CharacterDataHandler = self._text.append
        elif name == "f":
            self._formula = True
        elif name == "row":
            number = int(values.get("r", self._row + 1))
            if not self._row < number <= ROWS:
                raise ValueError(f"row {number} comes after row {self._row}")
            self._row, self._row_digits, self._column = number, str(number), -1
            self._begin, self._free = self.parser.CurrentByteIndex, 0

    def _start_cell(self, reference: str | None) -> None:
        column = self._column + 1
        if reference is not None:
            letters = reference.rstrip(DIGITS)
            column = _column(letters)
            if reference[len(letters) :] != self._row_digits:  # python-calamine follows the cell
                raise ValueError(f"row {self._row} has the cell {reference[:20]}")
        if not self._column < column < COLUMNS:
            raise ValueError(f"row {self._row} has a cell in {column_letters(column)} too many")
        if column >= self._first_free and not self._free:
            self._free = self.parser.CurrentByteIndex
        self._column = column
        self._formula = self._valued = False

    def _end(self, name: str) -> None:
        local = name.rpartition(":")[2] if ":" in name else name
        if local == "row":
            end = self.parser.CurrentByteIndex
            self.rows.append((self._row, name.encode(), self._begin, self._free or end, end))
        elif local == "c":
            if self._formula or self._kind == "e":
                self._judge()
            if self._valued:
                self._last_row = self._row
                if self._column > self._last_column:
                    self._last_column = self._column

    def _judge(self) -> None:
        """Note an error, or a formula that was not calculated."""
        text = "".join(self._text)
        self._text.clear()
        self.parser.CharacterDataHandler = None
        # Tools that do not compute write no value, or an empty one that is not marked as text.
        if self._formula and not (self._valued and (text or self._kind == "str")):
            self.uncomputed = self._row, self._column
        elif self._kind == "e" and text:
            if text not in ERRORS:
                cell = f"cell {column_letters(self._column)}{self._row} has the error {text[:20]}"
                raise ValueError(f"{cell}; clear the cell, or save the sheet as .csv")
            self.errors.setdefault(self._row, {})[self._column] = CellError(text)


@lru_cache(maxsize=COLUMNS)
def column_letters(column: int) -> str:
    """Return the letters of a column, numbered from 0."""
    letters = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


@lru_cache(maxsize=COLUMNS)
def _column(letters: str) -> int:
    """Return the number of a column, from 0, from its letters."""
    if not (letters.isascii() and letters.isalpha() and len(letters) < 4):
        raise ValueError(f"{letters[:20]!r} is not a column")
    column = 0
    for letter in letters.upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1


def _plain(name: str) -> str:
    """Return the name of a part in one spelling: some tools write backslashes, or capitals."""
    return name.replace("\\", "/").lower()


def _check_file(file: BinaryIO) -> None:
    if not file.read(2).startswith(b"PK"):
        raise ValueError(NO_WORKBOOK)
    if file.seek(0, 2) > FILE_BYTES:
        raise ValueError(f"it has more than {FILE_BYTES >> 20} MiB")


def _check_part(part: ZipInfo) -> None:
    if part.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others may need unbounded memory
        raise ValueError(f"{part.filename} has a compression that workbooks do not use")
    _check_size(part, PART_BYTES)
    if part.file_size > max(SMALL, part.compress_size * MOST_TIMES):
        raise ValueError(f"{part.filename} would have {part.file_size >> 20} MiB unpacked")


def _check_size(part: ZipInfo, most: int) -> None:
    if part.file_size > most:
        raise ValueError(f"{part.filename} has more than {most >> 20} MiB")


def _check_encoding(_version: str, encoding: str | None, _standalone: int) -> None:
    if encoding and encoding.lower() not in ("utf-8", "us-ascii"):
        raise ValueError(f"a sheet is in the encoding {encoding[:20]}; save it as .xlsx again")


def _refuse_doctype(*_: object) -> None:
    """Refuse document types: workbooks have none, and entities can expand to gigabytes."""
    raise ValueError("it declares a document type")
