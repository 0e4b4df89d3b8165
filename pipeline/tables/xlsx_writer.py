"""Writes Excel workbooks in bounded memory; numbers keep all their digits."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
from xlsxwriter import Workbook
from xlsxwriter.exceptions import XlsxWriterException
from xlsxwriter.worksheet import Worksheet

from pipeline.errors import OutputError
from pipeline.files.sheet_xml import CHARACTERS, COLUMNS, ROWS, Cell
from pipeline.money import plain
from pipeline.quoting import how_many, quoted
from pipeline.tables.cells import arrow_cells, cell
from pipeline.tables.table import Batch, NewColumn, Reader
from pipeline.tables.texts import encodable
from pipeline.tables.xlsx_cells import EPOCH, FIRST_DAY, WHOLE
from pipeline.tables.xlsx_reader import XlsxBatch, XlsxReader

__all__ = ["XlsxWriter", "check_xlsx"]

log = logging.getLogger(__name__)

HINT = "Write CSV or Parquet: --output-format csv."

DATE, DATETIME = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss.000"


class _Number(float):
    """A number with the digits that are written, and the number format of its cell."""

    def __new__(cls, text: str, form: int | str = 0) -> _Number:
        value = float(text)
        made = super().__new__(cls, value if isfinite(value) else 0.0)
        made.text, made.form = text, form
        return made

    text: str
    form: int | str


class _Error(str):
    """An error value such as #N/A."""


class _Sheet(Worksheet):  # type: ignore[misc]
    """A sheet that writes numbers and texts unchanged."""

    def _xml_number_element(self, number: Any, attributes: Any = ()) -> None:
        """Write all digits; the library writes 16."""
        text = getattr(number, "text", repr(number))
        named = "".join(f' {key}="{value}"' for key, value in attributes)
        self.fh.write(f"<c{named}><v>{text}</v></c>")

    def _xml_rich_inline_string(self, string: str, attributes: Any = ()) -> None:
        """Write a text that looks like the library's formatted text as what it is."""
        self._xml_inline_string(string, True, attributes)


class XlsxWriter:
    """A workbook with one sheet.

    Of a workbook, the name of the sheet, the rows above the column names and the number formats are
    kept.

    Raises:
        OutputError: a sheet cannot hold so many columns.
    """

    replaced_characters = 0

    def __init__(self, path: Path, reader: Reader, new_fields: Sequence[pa.Field]) -> None:
        book = reader if isinstance(reader, XlsxReader) else None
        self._new_at = book.end if book else len(reader.schema)
        if self._new_at + len(new_fields) > COLUMNS:
            raise OutputError(f"A sheet cannot hold more than {COLUMNS:,} columns.", HINT)
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tender-pipeline-"))
            file = stack.enter_context(path.open("wb"))
            from_1904 = bool(book and book.values.from_1904)
            options = {"constant_memory": True, "tmpdir": folder, "date_1904": from_1904}
            self._book = Workbook(file, options)
            self._book.use_zip64()
            self._sheet = self._book.add_worksheet(book and book.sheet, worksheet_class=_Sheet)
            stack.callback(self._sheet._opt_close)
            self._formats: dict[int | str, Any] = {0: None}
            self._row = self._shortened = 0
            if book:
                for number, row in [*book.above.items(), (book.header_row, book.header)]:
                    self._row = number - 1
                    self._write_cells(row, book)
            else:
                self._write_row(0, reader.schema.names)
            self._write_row(self._new_at, [field.name for field in new_fields])
            self._row += 1
            self._closing = stack.pop_all()

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns followed by the new ones.

        Raises:
            OutputError: a sheet cannot hold so many rows, or so long a text.
        """
        new = list(zip(*(map(self._new_value, column.values) for column in columns), strict=True))
        _check_rows(self._row + len(new))
        if isinstance(batch, XlsxBatch):
            for row, added in zip(batch.rows, new, strict=True):
                self._write_cells(row, batch)
                self._write_row(self._new_at, added)
                self._row += 1
            return
        for cells, added in zip(zip(*_original(batch), strict=True), new, strict=True):
            self._write_row(0, cells)
            self._write_row(self._new_at, added)
            self._row += 1

    def close(self, metadata: dict[str, str]) -> None:  # noqa: ARG002 - the summary has it
        """Finish the workbook."""
        with self._closing:
            try:
                self._book.close()
            except XlsxWriterException as error:
                raise OSError(str(error)) from error
        if self._shortened:
            cut = how_many(self._shortened, "new text")
            log.warning("Too long for a cell of a workbook, and cut: %s. %s", cut, HINT)

    def abort(self) -> None:
        """Close the file."""
        self._closing.close()

    def _new_value(self, value: Any) -> Any:
        """Return a value of a new column for a cell; one that is too long is cut and counted."""
        match value:
            case None | float():
                return value
            case Decimal():
                return _exact(plain(value))
            case str():
                text = value = encodable([value])[0]
            case _:
                text = cell(value)
        if _length(text) <= CHARACTERS:
            return text
        self._shortened += 1
        return _cut(value)

    def _write_cells(self, row: Any, source: XlsxReader | XlsxBatch) -> None:
        for column, found in row.items():
            self._write(column, _cell_value(found, source))

    def _write_row(self, start: int, values: Sequence[Any]) -> None:
        for column, value in enumerate(values, start):
            if value is not None:
                self._write(column, value)

    def _write(self, column: int, value: Any) -> None:
        match value:
            case bool():
                self._sheet.write_boolean(self._row, column, value)
            case float():
                form = self._form(getattr(value, "form", 0))
                self._sheet.write_number(self._row, column, value, form)
            case _Error():
                self._sheet.write_formula(self._row, column, f"={value}", None, value)
            case str():
                _check_text(value)
                self._sheet.write_string(self._row, column, value)

    def _form(self, form: int | str) -> Any:
        if form not in self._formats:
            self._formats[form] = self._book.add_format({"num_format": form})
        return self._formats[form]


def check_xlsx(batch: Batch, rows: int) -> None:
    """Refuse rows that a sheet cannot hold.

    ``rows`` of the table come before them.

    Raises:
        InputError: a value cannot be written as text.
        OutputError: there are too many rows, or a text is too long.
    """
    _check_rows(rows + len(batch.texts) + 1)
    if isinstance(batch, XlsxBatch):
        return
    for column in _original(batch):
        for value in column:
            if isinstance(value, str):
                _check_text(value)


def _check_rows(rows: int) -> None:
    if rows > ROWS:
        raise OutputError(f"A sheet cannot hold more than {ROWS:,} rows.", HINT)


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


def _cell_value(found: Cell, source: XlsxReader | XlsxBatch) -> Any:
    match found.kind:
        case "number":
            return _Number(found.text, source.values.format_of(found))
        case "bool":
            return found.text == "1"
        case "error":
            return _Error(found.text)
        case _:
            return found.text


def _cut(value: Any) -> str:
    """Return the start of a text that is too long; of a list, the first items that fit as JSON."""
    if isinstance(value, str):
        return value[: CHARACTERS // 2]
    while _length(text := cell(value)) > CHARACTERS:
        value = value[:-1]
    return text


def _exact(text: str) -> _Number | str:
    """Return a number as a number if a cell holds it exactly, else as text."""
    return _Number(text) if Decimal(text) == Decimal(repr(float(text))) else text


def _original(batch: Batch) -> list[Sequence[Any]]:
    """Return the values of the original columns for cells."""
    columns = batch.to_arrow()
    return [_values(name, each) for name, each in zip(columns.schema.names, columns, strict=True)]


def _values(name: str, column: pa.Array) -> Sequence[Any]:
    """Return the values of an original column for cells; None leaves a cell empty."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind, types = column.type, pa.types
    if types.is_boolean(kind):
        return list(column.to_pylist())
    if types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None):
        return _dates(name, column)
    texts = arrow_cells(name, column)
    if types.is_integer(kind):
        return [_Number(text) if _fits(text) else text or None for text in texts]
    if types.is_floating(kind) or types.is_decimal(kind):
        return [_exact(text) if _is_finite(text) else text or None for text in texts]
    return [text or None for text in texts]


def _fits(text: str) -> bool:
    return bool(text) and abs(int(text)) <= WHOLE


def _is_finite(text: str) -> bool:
    return bool(text) and text not in ("nan", "inf", "-inf")


def _dates(name: str, column: pa.Array) -> Sequence[Any]:
    """Return dates and times as numbers; as text before March 1900, or finer than milliseconds."""
    form = DATE if pa.types.is_date(column.type) else DATETIME
    return [_dated(text, form) if text else None for text in arrow_cells(name, column)]


def _dated(text: str, form: str) -> _Number | str:
    try:
        since = datetime.fromisoformat(text) - EPOCH
    except ValueError:  # a year before 1 or after 9999
        return text
    finer = text.partition(".")[2][3:].strip("0")  # fromisoformat drops nanoseconds
    if since.days < FIRST_DAY or finer:
        return text
    days = since.days + (since.seconds + since.microseconds / 1e6) / 86_400
    return _Number(repr(days) if since.seconds or since.microseconds else str(since.days), form)
