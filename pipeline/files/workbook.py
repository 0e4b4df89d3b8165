"""Reads .xlsx workbooks row by row, in bounded memory.

Existing readers allocate a sheet's whole extent: a file of 1,500 bytes with one cell in the last
corner asks for 17 billion cells and aborts the process. They also round numbers, and replace
errors and early dates.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import normpath
from typing import BinaryIO, TypeAlias
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from pipeline.files.sheet_xml import Cell, Row, SheetXml, StringsXml, local_name

__all__ = ["UNREADABLE", "Cell", "Limits", "Row", "Sheet", "Workbook", "row_texts"]

CHUNK = 2**16

OLD = b"\xd0\xcf\x11\xe0"
PROTECTED = "EncryptedPackage".encode("utf-16-le")
"""The name of the stream in which a protected workbook is encrypted."""

DIRECTORY_BYTES = 2**22
"""Where to look for that name."""

NO_WORKBOOK = "it is not a complete .xlsx workbook; save it as .xlsx or .csv"

WORKBOOK, LINKS, STRINGS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml"
STYLES = "xl/styles.xml"

HIDDEN = ("hidden", "veryHidden")

SeeElement: TypeAlias = Callable[[str, dict[str, str]], None]

NumberFormat: TypeAlias = int | str
"""A built-in number format by its number, or the code of another one."""

UNREADABLE = (
    ValueError,
    RuntimeError,
    OSError,
    EOFError,
    BadZipFile,
    expat.ExpatError,
    zlib.error,
)
"""What reading a file raises that is no such workbook, or is damaged, encrypted or too large."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits in bytes.

    Attributes:
        file: of a workbook.
        part: of an uncompressed part of it.
        strings: of the part with shared texts, which is held in memory.
    """

    file: int = 128 * 2**20
    part: int = 512 * 2**20
    strings: int = 128 * 2**20


LIMITS = Limits()
"""The usual limits: several times the size of the official UNSPSC file."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of a workbook."""

    name: str
    hidden: bool
    part: str


class Workbook:
    """An open workbook; a context manager.

    Attributes:
        sheets: its sheets, in their order.
        formats: the number format of each cell format.
        from_1904: whether dates count from 1904.

    Raises:
        UNREADABLE: the file is not such a workbook.
    """

    def __init__(self, file: BinaryIO, limits: Limits | None = None) -> None:
        self._limits = limits or LIMITS
        _check_file(file, self._limits)
        self._archive = ZipFile(file)
        self._parts = {info.filename.lower(): info for info in self._archive.infolist()}
        self._shared = StringsXml()
        self.sheets: list[Sheet] = []
        self.formats: list[NumberFormat] = []
        self.from_1904 = False
        try:
            self._read()
        except BaseException:
            self._archive.close()
            raise

    def __enter__(self) -> Workbook:
        return self

    def __exit__(self, *error: object) -> None:
        self._archive.close()

    def rows(self, sheet: Sheet) -> Iterator[tuple[int, Row]]:
        """Yield the rows of a sheet that the file has, with their numbers, from 1."""
        handler = SheetXml(self._shared.texts)
        for _ in self._parsed(sheet.part, handler, self._limits.part):
            yield from handler.taken()

    def _read(self) -> None:
        links: dict[str, str] = {}
        named: list[tuple[str, bool, str]] = []

        def see(name: str, values: dict[str, str]) -> None:
            if name == "sheet":
                part = next((v for key, v in values.items() if key.endswith(":id")), "")
                named.append((values.get("name", ""), values.get("state") in HIDDEN, part))
            elif name == "Relationship":
                links[values.get("Id", "")] = values.get("Target", "")
            elif name == "workbookPr":
                self.from_1904 = values.get("date1904") in ("1", "true")

        self._see(WORKBOOK, see)
        self._see(LINKS, see)
        self.sheets = [
            Sheet(name, hidden, normpath(PurePosixPath("/xl", links[part])).lstrip("/"))
            for name, hidden, part in named
            if part in links
        ]
        if not self.sheets:
            raise ValueError("it has no sheet")
        if STRINGS.lower() in self._parts:
            for _ in self._parsed(STRINGS, self._shared, self._limits.strings):
                pass
        if STYLES in self._parts:
            self.formats = self._formats()

    def _formats(self) -> list[NumberFormat]:
        codes: dict[str, str] = {}
        found: list[NumberFormat] = []
        of_cells = False

        def see(name: str, values: dict[str, str]) -> None:
            nonlocal of_cells
            if name == "numFmt":
                codes[values.get("numFmtId", "")] = values.get("formatCode", "")
            elif name in ("cellXfs", "cellStyles"):
                of_cells = name == "cellXfs"
            elif name == "xf" and of_cells:
                number = values.get("numFmtId", "0")
                found.append(codes.get(number) or int(number))

        self._see(STYLES, see)
        return found

    def _see(self, part: str, see: SeeElement) -> None:
        def start(name: str, values: dict[str, str]) -> None:
            see(local_name(name), values)

        for _ in self._parsed(part, start, self._limits.strings):
            pass

    def _parsed(
        self, name: str, handler: SeeElement | StringsXml | SheetXml, most: int
    ) -> Iterator[None]:
        """Parse a part chunk by chunk, up to a limit of uncompressed bytes."""
        info = _part(self._parts, name)
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse_doctype
        if isinstance(handler, StringsXml | SheetXml):
            parser.StartElementHandler = handler.start
            parser.EndElementHandler = handler.end
            parser.CharacterDataHandler = handler.text
        else:
            parser.StartElementHandler = handler
        unpacked = 0
        with self._archive.open(info) as part:
            while chunk := part.read(CHUNK):
                unpacked += len(chunk)
                if unpacked > most:
                    raise ValueError(f"{info.filename} has more than {most >> 20} MiB")
                try:
                    parser.Parse(chunk)
                except LookupError as error:  # Python does not know the encoding that it states
                    raise ValueError(str(error)) from error
                yield
        parser.Parse(b"", True)
        yield


def row_texts(file: BinaryIO) -> Iterator[Mapping[int, str]]:
    """Yield the rows of the first sheet as texts.

    Raises:
        UNREADABLE: the file is not such a workbook.
    """
    with Workbook(file) as workbook:
        for _, row in workbook.rows(workbook.sheets[0]):
            yield {column: _text(cell) for column, cell in row.items() if cell.text}


def _check_file(file: BinaryIO, limits: Limits) -> None:
    first = file.read(DIRECTORY_BYTES)
    if first.startswith(OLD):
        if PROTECTED in first:
            raise ValueError("it is protected with a password; save it without one")
        raise ValueError("it is an old (.xls) or a protected workbook; save it as .xlsx or .csv")
    if not first.startswith(b"PK"):
        raise ValueError(NO_WORKBOOK)
    if file.seek(0, 2) > limits.file:
        raise ValueError(f"it has more than {limits.file >> 20} MiB")


def _part(parts: Mapping[str, ZipInfo], name: str) -> ZipInfo:
    if name.lower() not in parts:
        raise ValueError(NO_WORKBOOK)
    info = parts[name.lower()]
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others may need unbounded memory
        raise ValueError(f"{name} has a compression that workbooks do not use")
    return info


def _text(cell: Cell) -> str:
    """Return a cell as text: some files store codes as numbers, such as 10101501.0."""
    text = cell.text
    if cell.kind != "number" or text.isdecimal():
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    return str(int(value)) if value.is_integer() else text


def _refuse_doctype(*_: object) -> None:
    """Refuse document types: workbooks have none, and entities can expand to gigabytes."""
    raise ValueError("it declares a document type")
