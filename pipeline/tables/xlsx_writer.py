"""Writes Excel workbooks in bounded memory: a new one, or a copy of the input with more columns."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa

from pipeline.errors import OutputError
from pipeline.files.workbook import (
    CHARACTERS,
    COLUMNS,
    ROWS,
    UNREADABLE,
    Workbook,
    column_letters,
)
from pipeline.money import plain
from pipeline.settings import ExcelOptions
from pipeline.tables.cells import arrow_cells, cell
from pipeline.tables.streams import FileWriter
from pipeline.tables.table import Batch, NewColumn, Reader
from pipeline.tables.texts import encodable
from pipeline.tables.xlsx_reader import WHOLE, XlsxBatch, XlsxReader, as_input_error
from pipeline.wording import AS_CSV, quoted

HINT = f"Write CSV or Parquet: {AS_CSV}."

FORMS = ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss.000")
"""The formats of dates and of times: numbers 1 and 2 of those that a new workbook has."""

FIRST_DAY, DAY = datetime(1899, 12, 30), timedelta(days=1)
"""A date is the number of days since the first one."""

DAMAGED = tuple(error for error in UNREADABLE if error is not OSError)
"""What reading raises, and writing does not."""

FIRST_DATE = datetime(1900, 3, 1)
"""Before it, Excel counts a leap day that never was."""

CONTROLS = re.compile(r"[\0-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""Characters that a workbook writes as _x0000_, and the start of what looks like that."""

EXTENT = re.compile(rb"<(?:\w+:)?dimension\b[^>]*>(?:</(?:\w+:)?dimension\s*>)?")
SPANS = re.compile(rb"\sspans=\"[^\"]*\"")
"""What a sheet and a row state of their extent; both are optional, and wrong with more columns."""

CALCULATION = re.compile(rb"<(?:\w+:)?(?:Override|Relationship)\b[^>]*calcChain\.xml[^>]*>")
"""The links to the order of calculation, which spreadsheet programs find again."""


open_reader = XlsxReader


def open_writer(path: Path, _name: str, reader: Reader, new_fields: Sequence[pa.Field]) -> XlsxCopy:
    """Open a workbook: a copy of the input if that is one too."""
    if isinstance(reader, XlsxReader):
        return XlsxCopy(path, reader, new_fields)
    return XlsxWriter(path, reader, new_fields)


class XlsxCopy(FileWriter):
    """A copy of a workbook, with cells after those of the rows of its table.

    Raises:
        InputError: the workbook can no longer be read.
        OutputError: a sheet cannot hold so many columns.
    """

    def __init__(self, path: Path, reader: XlsxReader, new_fields: Sequence[pa.Field]) -> None:
        _check_number(reader.end + len(new_fields), COLUMNS, "columns")
        self._reader = reader
        self._row = reader.header_row
        with ExitStack() as stack:
            with as_input_error(reader.path):
                book = stack.enter_context(Workbook(reader.path))
            sheet = next(candidate for candidate in book.sheets if candidate.name == reader.sheet)
            self._part = sheet.part
            self._file = stack.enter_context(ZipFile(path, "w", ZIP_DEFLATED))
            for part in book.archive.infolist():
                if part != self._part and not part.filename.endswith("calcChain.xml"):
                    with as_input_error(reader.path, DAMAGED):
                        self._copy(book.archive, part)
            # Its size must be known before it goes into the file: Excel warns of needless ZIP64.
            self._xml = stack.enter_context(tempfile.TemporaryFile(prefix="tender-pipeline-"))
            self._rows = book.row_xml(sheet, reader.end)
            self._closing = stack.pop_all()
        self._advance()
        self._add([field.name for field in new_fields])

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:  # noqa: ARG002
        """Write the new columns of a batch; the original cells are those of the input."""
        self._add_all([map(_new_value, column.values) for column in columns])

    def close(self, metadata: dict[str, str]) -> None:  # noqa: ARG002 - the summary has it
        """Finish the workbook, without the rows of the table that were not written."""
        with self._closing:
            self._copy_rows(self._row + 1)
            while self._next.number <= self._reader.last_row:
                self._advance()
            self._copy_rows(ROWS + 1)
            self._xml.write(self._next.lead)
            part = _same(self._part, self._xml.tell())
            self._xml.seek(0)
            with self._file.open(part, "w") as target:
                shutil.copyfileobj(self._xml, target)

    def _copy(self, archive: ZipFile, part: ZipInfo) -> None:
        if part.filename.endswith((".rels", "[Content_Types].xml")):
            content = CALCULATION.sub(b"", archive.read(part))
            self._file.writestr(_same(part, len(content)), content)
            return
        made = _same(part, part.file_size)
        with archive.open(part) as source, self._file.open(made, "w") as target:
            shutil.copyfileobj(source, target)

    def _advance(self) -> None:
        with as_input_error(self._reader.path, DAMAGED):
            self._next = next(self._rows)

    def _add_all(self, columns: Iterable[Iterable[Any]]) -> None:
        for values in zip(*columns, strict=True):
            self._row += 1
            self._add(values)

    def _add(self, values: Sequence[Any]) -> None:
        """Add cells to a row of the table; one without values may not be in the file."""
        number = self._row
        self._copy_rows(number)
        row = self._next
        prefix = row.tag.removesuffix(b"row")
        cells = "".join(
            _cell_xml(prefix.decode(), f"{column_letters(column)}{number}", value)
            for column, value in enumerate(values, self._reader.end)
            if value not in (None, "")
        ).encode()
        if row.number == number:
            start = EXTENT.sub(b"", row.lead) + SPANS.sub(b"", row.start) + row.cells
            self._advance()
        else:
            start = b'<%b r="%d">' % (row.tag, number)
        self._xml.write(start + cells + b"</%b>" % row.tag)

    def _copy_rows(self, number: int) -> None:
        """Copy the rows before one."""
        while self._next.number < number:
            row = self._next
            lead = EXTENT.sub(b"", row.lead)
            self._xml.write(lead + row.start + row.cells + row.after + b"</%b>" % row.tag)
            self._advance()


class XlsxWriter(XlsxCopy):
    """A new workbook with one sheet: a copy of an empty one, to which all columns are added."""

    def __init__(self, path: Path, reader: Reader, new_fields: Sequence[pa.Field]) -> None:
        import xlsxwriter  # copies of workbooks do not need it, and it takes a tenth of a start

        with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
            file = Path(folder) / "empty.xlsx"
            with xlsxwriter.Workbook(file) as book:
                sheet = book.add_worksheet()
                sheet.write_number(0, 0, 0)  # a sheet without a value is no table
                for column, form in enumerate(FORMS, 1):
                    sheet.write_blank(0, column, None, book.add_format({"num_format": form}))
            empty = XlsxReader(file, (), None, ExcelOptions())
            empty.end = 0  # so the columns take the place of its cells
            super().__init__(path, empty, [*reader.schema, *new_fields])

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns followed by the new ones.

        Raises:
            OutputError: a sheet cannot hold so many rows, or so long a text.
        """
        _check_number(self._row + len(batch.texts), ROWS, "rows")
        new = [map(_new_value, column.values) for column in columns]
        self._add_all([*_original(batch), *new])


def check(batch: Batch, rows: int) -> None:
    """Refuse rows that a sheet cannot hold.

    ``rows`` of the table come before them.

    Raises:
        InputError: a value cannot be written as text.
        OutputError: there are too many rows, or a text is too long.
    """
    if isinstance(batch, XlsxBatch):
        return
    _check_number(rows + len(batch.texts) + 1, ROWS, "rows")
    for column in _original(batch):
        for value in column:
            if isinstance(value, str):
                _check_text(value)


def _cell_xml(prefix: str, reference: str, value: Any) -> str:
    """Return the XML of a cell.

    Raises:
        OutputError: a text is too long.
    """
    attributes = ""
    match value:
        case bool():
            attributes, value = ' t="b"', int(value)
        case datetime():
            attributes, value = ' s="2"', (value - FIRST_DAY) / DAY
        case date():
            attributes, value = ' s="1"', (value - FIRST_DAY.date()).days
        case float() if not isfinite(value):
            value = str(value)
        case int() if abs(value) > WHOLE:
            value = str(value)
    if isinstance(value, str):
        _check_text(value)
        text = escape(CONTROLS.sub(lambda control: f"_x{ord(control[0]):04X}_", value))
        inner = f'<{prefix}t xml:space="preserve">{text}</{prefix}t>'
        inner = f"<{prefix}is>{inner}</{prefix}is>"
        return f'<{prefix}c r="{reference}" t="inlineStr">{inner}</{prefix}c>'
    return f'<{prefix}c r="{reference}"{attributes}><{prefix}v>{value!r}</{prefix}v></{prefix}c>'


def _same(part: ZipInfo, size: int) -> ZipInfo:
    """Return a new entry of a ZIP archive like another one, of some bytes."""
    made = ZipInfo(part.filename, part.date_time)
    made.compress_type, made.external_attr = part.compress_type, part.external_attr
    made.file_size = size
    return made


def _check_number(number: int, most: int, what: str) -> None:
    if number > most:
        raise OutputError(f"A sheet cannot hold more than {most:,} {what}.", HINT)


def _check_text(text: str) -> None:
    if _length(text) > CHARACTERS:
        raise OutputError(
            f"A cell cannot hold more than {CHARACTERS:,} characters, and the text that begins "
            f"with {quoted(text)} has {len(text):,}.",
            HINT,
        )


def _length(text: str) -> int:
    """Return the length as spreadsheet programs count it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 if len(text) > CHARACTERS // 2 else 0


def _new_value(value: Any) -> str | float | None:
    """Return a value of a new column for a cell; one that is too long is cut.

    A decimal is a number if a cell holds it exactly. Of a list, the first items that fit are kept.
    """
    match value:
        case None | float():
            return value
        case Decimal():
            return _exact(plain(value))
        case str():
            text = encodable([value])[0]
            return text if _length(text) <= CHARACTERS else text[: CHARACTERS // 2]
    while _length(text := cell(value)) > CHARACTERS:
        value = value[:-1]
    return text


def _exact(text: str) -> float | str:
    """Return a number as a number if a cell holds it exactly, with 16 digits, else as text."""
    value = float(text)
    return value if Decimal(f"{value:.16G}") == Decimal(text) else text


def _original(batch: Batch) -> list[Sequence[Any]]:
    """Return the values of the original columns for cells."""
    columns = batch.to_arrow()
    return [
        _values(name, column) for name, column in zip(columns.schema.names, columns, strict=True)
    ]


def _values(name: str, column: pa.Array) -> Sequence[Any]:
    """Return the values of an original column for cells; None leaves a cell empty."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind, types = column.type, pa.types
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return list(column.to_pylist())
    texts = arrow_cells(name, column)
    convert: Callable[[str], Any] = str
    if types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None):
        convert = _moment
    elif types.is_decimal(kind):
        convert = _exact
    return [convert(text) if text else None for text in texts]


def _moment(text: str) -> date | str:
    """Return a day or a time; as text before March 1900, after 9999, or finer than milliseconds."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # a year before 1 or after 9999
        return text
    finer = text.partition(".")[2][3:].strip("0")  # fromisoformat drops nanoseconds
    if finer or moment < FIRST_DATE:
        return text
    return moment if " " in text else moment.date()
