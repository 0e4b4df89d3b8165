"""Reads the table in a sheet of an Excel workbook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.file_options import ExcelOptions
from pipeline.files.regular import open_regular
from pipeline.files.workbook import UNREADABLE, Limits, Row, Workbook
from pipeline.quoting import listed, quoted
from pipeline.tables.json_records import CellText, check_found, find_cell_texts
from pipeline.tables.streams import FileReader, refuse_other_contents
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS
from pipeline.tables.texts import encodable, join_texts
from pipeline.tables.xlsx_cells import TYPES, CellValues, Kind, column_letters, merged
from pipeline.tables.xlsx_layout import find_layout

__all__ = ["XlsxBatch", "XlsxReader"]

LIMITS = Limits(file=2**30, part=2**33, strings=2**30)

EMPTY: Row = {}


@dataclass(frozen=True, slots=True)
class XlsxBatch:
    """Rows of a sheet."""

    texts: Sequence[str]
    rows: Sequence[Row]
    kinds: Mapping[int, Kind]
    schema: pa.Schema
    values: CellValues

    def to_arrow(self) -> pa.RecordBatch:
        """Return the columns, typed by what all cells of a column hold."""
        arrays = []
        for (column, kind), field in zip(self.kinds.items(), self.schema, strict=True):
            cells = [row.get(column) for row in self.rows]
            found = [cell and self.values.value(cell, kind) for cell in cells]
            arrays.append(pa.array(found, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def head(self, rows: int) -> XlsxBatch:
        """Return the first rows only."""
        texts, cells = self.texts[:rows], self.rows[:rows]
        return XlsxBatch(texts, cells, self.kinds, self.schema, self.values)


class XlsxReader(FileReader):
    """The table in a sheet. Opening it reads all of it, to find the type of each column.

    Attributes:
        schema: the columns; one without a name has the letters of its column.
        sheet: the name of the sheet.
        above: the rows above the column names, by their numbers, from 1.
        header_row: the number of the row with the column names.
        header: its cells.
        values: interprets the cells.
        end: the number of the first column after the table, from 0.
    """

    def __init__(self, path: Path, text_columns: Sequence[str], options: ExcelOptions) -> None:
        super().__init__(path)
        with self._opened() as book:
            self.values = CellValues(book.formats, book.from_1904)
            layout = find_layout(path, book, self.values, text_columns, options)
            self._sheet = layout.sheet
            self.sheet, self.header_row = layout.sheet.name, layout.header_row
            self.above, self.header = layout.above, layout.header
            self._kinds, self._last_row = self._scan(book)
        self.end = max(self._kinds) + 1
        names = [self._name(column) for column in self._kinds]
        kinds = self._kinds.values()
        self.schema = pa.schema(
            [(name, TYPES.get(kind, pa.string())) for name, kind in zip(names, kinds, strict=True)]
        )
        self._where = f"{path}, sheet {quoted(self.sheet)}"
        columns = list(self._kinds)
        with _naming_other(layout.others):
            found = find_cell_texts(names, text_columns, self._where)
            self._text_in = [replace(each, place=columns[each.place]) for each in found]

    def batches(self) -> Iterator[XlsxBatch]:
        """Read the table from its beginning; see `Reader.batches`."""
        texts: list[str] = []
        rows: list[Row] = []
        chars = 0
        with self._opened() as book:
            for row in self._rows(book):
                texts.append(join_texts(self._text(row, each) for each in self._text_in))
                rows.append(row)
                chars += sum(len(cell.text) for cell in row.values())
                if len(rows) == BATCH_ROWS or chars >= BATCH_CHARS:
                    yield self._batch(texts, rows)
                    texts, rows, chars = [], [], 0
        if rows:
            yield self._batch(texts, rows)
        wanted = [each.name for each in self._text_in]
        check_found(self._text_in, self.schema.names, wanted, self._where)

    def _batch(self, texts: list[str], rows: list[Row]) -> XlsxBatch:
        return XlsxBatch(encodable(texts), rows, self._kinds, self.schema, self.values)

    def _text(self, row: Row, where: CellText) -> str | None:
        cell = row.get(where.place)
        return None if cell is None or cell.kind == "error" else where.of(self.values.text(cell))

    def _name(self, column: int) -> str:
        cell = self.header.get(column)
        return self.values.text(cell) if cell else column_letters(column)

    def _rows(self, book: Workbook) -> Iterator[Row]:
        """Yield the rows below the column names up to the last one with a value."""
        expected = self.header_row + 1
        for number, row in book.rows(self._sheet):
            if number > self._last_row:
                return
            if number > self.header_row:
                for _ in range(expected, number):
                    yield EMPTY
                yield row
                expected = number + 1

    def _scan(self, book: Workbook) -> tuple[Mapping[int, Kind], int]:
        """Return the kinds of the columns and the number of the last row with a value.

        Raises:
            InputError: a formula has no stored value.
        """
        kinds: dict[int, Kind] = dict.fromkeys(self.header, "null")
        last = self.header_row
        for number, row in book.rows(self._sheet):
            if number <= self.header_row or not row:
                continue
            last = number
            for column, cell in row.items():
                if cell.kind == "formula":
                    raise self._uncomputed(number, column)
                before = kinds.get(column, "null")
                kinds[column] = merged(before, self.values.kind(cell))
        columns = range(min(kinds), max(kinds) + 1)
        return {column: kinds.get(column, "null") for column in columns}, last

    def _uncomputed(self, row: int, column: int) -> InputError:
        return InputError(
            f"{self._path}, sheet {quoted(self.sheet)}, cell {column_letters(column)}{row}: "
            "the formula has no stored value.",
            "Open the workbook in a spreadsheet program and save it, so that it is calculated.",
        )

    @contextmanager
    def _opened(self) -> Iterator[Workbook]:
        try:
            with open_regular(self._path) as file, Workbook(file, LIMITS) as book:
                yield book
        except UNREADABLE as error:
            refuse_other_contents(self._path, "Excel")
            reason = str(error).splitlines()[0].rstrip(".") if str(error) else repr(error)
            raise InputError(
                f"{self._path} cannot be read as an Excel workbook: {reason}.",
                "Check that the file is complete, such as after a download.",
            ) from error


@contextmanager
def _naming_other(sheets: Sequence[str]) -> Iterator[None]:
    """Let the error about a missing column name the other sheets."""
    try:
        yield
    except InputError as error:
        if sheets:
            error.hint = f"{error.hint} Or name another sheet, --sheet NAME: {listed(sheets)}."
        raise
