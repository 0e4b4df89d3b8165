"""Reads the table in a sheet of an Excel workbook."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.files.workbook import (
    UNREADABLE,
    CellError,
    Grid,
    Sheet,
    Value,
    Workbook,
    column_letters,
)
from pipeline.settings import ExcelOptions
from pipeline.tables.cells import ARROW_TYPES, Kind, common_kind
from pipeline.tables.formats import refuse_other_contents
from pipeline.tables.streams import FileReader
from pipeline.tables.table import in_batches
from pipeline.tables.texts import (
    TextColumn,
    encodable,
    find_cell_texts,
    has_all,
    join_texts,
    own_name,
)
from pipeline.wording import excel_option, listed, marked, quoted

log = logging.getLogger(__name__)

HEADER_WITHIN = 100
"""Rows in which the column names are looked for."""

WHOLE = 2**53
"""The first whole number whose neighbours a float cannot tell apart."""

DAY = timedelta(days=1)

CHECK_FILE = (
    "check that the file is complete, such as after a download, or open it in a spreadsheet "
    "program and save it as .xlsx again"
)

Row: TypeAlias = Sequence[Value]


@dataclass(frozen=True, slots=True)
class XlsxBatch:
    """Rows of a sheet, with the text and the number of each."""

    texts: Sequence[str]
    numbers: Sequence[int]
    rows: Sequence[Row]
    kinds: Mapping[int, Kind]
    schema: pa.Schema

    def to_arrow(self) -> pa.RecordBatch:
        """Return the columns, typed by what all cells of a column hold."""
        arrays = []
        for (column, kind), field in zip(self.kinds.items(), self.schema, strict=True):
            cells = [_at(row, column) for row in self.rows]
            values = [None if cell == "" else _value(cell, kind) for cell in cells]
            arrays.append(pa.array(values, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class XlsxReader(FileReader):
    """The table in a sheet, whose cells stay in memory.

    Attributes:
        schema: the columns; one without a name has the letters of its column. The cells of a column
            decide its type.
        sheet: the name of the sheet.
        header_row: the number of the row with the column names, from 1.
        last_row: the number of the last row with a value.
        end: the number of the first column after the table, from 0.
    """

    def __init__(
        self, path: Path, text_columns: Sequence[str], _csv: object, options: ExcelOptions
    ) -> None:
        super().__init__(path)
        with as_input_error(path), Workbook(path) as book:
            table = _find_table(path, book, text_columns, options)
            self._grid, self.sheet, self.header_row = table.grid, table.name, table.header_row
            self._where = f"{path}, sheet {quoted(self.sheet)}"
            self._kinds, self.last_row = self._scan(table.header)
            self.end = max(self._kinds) + 1
            names = [
                _text(_at(table.header, column)) or column_letters(column) for column in self._kinds
            ]
            types = [ARROW_TYPES.get(kind, pa.string()) for kind in self._kinds.values()]
            self.schema = pa.schema(list(zip(names, types, strict=True)))
            columns = list(self._kinds)
            other_sheets = listed([sheet.name for sheet in book.sheets if sheet.name != self.sheet])
            sheets = f"other sheets ({other_sheets}), " if other_sheets else ""
            self.beside_values = f"{sheets}formats and formulas of the workbook"
            seen = [sheet.name for sheet in book.sheets if not sheet.hidden]
            if len(seen) > 1 and not options.sheet:
                log.info("%s: sheet %s of %s is read", path.name, quoted(self.sheet), listed(seen))
            try:
                cell_texts = find_cell_texts(names, text_columns, self._where)
            except InputError as error:
                if other_sheets and not options.sheet:
                    hint = f"Or name another sheet, {excel_option('sheet', 'NAME')}"
                    error.hint = f"{marked(error.hint)} {hint}: {other_sheets}."
                raise
            self._text_in = [
                replace(cell_text, place=columns[cell_text.place]) for cell_text in cell_texts
            ]

    def batches(self, limit: int | None = None) -> Iterator[XlsxBatch]:
        """Read the table from its beginning; see `Reader.batches`."""
        table = islice(self._grid.rows(), self.header_row, self.last_row)
        before = self.header_row
        merged = _MergedTexts(self._grid.merged)
        for rows in in_batches(islice(table, limit), _length):
            numbers = range(before + 1, before + 1 + len(rows))
            before = numbers[-1]
            texts = [
                join_texts(merged.text(number, row, column) for column in self._text_in)
                for number, row in zip(numbers, rows, strict=True)
            ]
            yield XlsxBatch(encodable(texts), numbers, rows, self._kinds, self.schema)

    def _scan(self, header: Row) -> tuple[Mapping[int, Kind], int]:
        """Return the kinds of the columns and the number of the last row with a value.

        Raises:
            InputError: a formula has no stored value.
        """
        row, column = self._grid.uncomputed
        if row > self.header_row:
            raise InputError(
                f"{self._where}, cell {column_letters(column)}{row}: "
                "the formula has no stored value.",
                "Open the workbook in a spreadsheet program and save it, so that it is calculated.",
            )
        kinds: dict[int, Kind] = {at: "null" for at, cell in enumerate(header) if cell != ""}
        last = self.header_row
        below = islice(self._grid.rows(), self.header_row, None)
        for number, cells in enumerate(below, self.header_row + 1):
            for at, cell in enumerate(cells):
                if cell != "":
                    last = number
                    kind = _kind(cell)
                    if kinds.get(at) != kind:
                        kinds[at] = common_kind(kinds.get(at, "null"), kind)
        columns = range(min(kinds), max(kinds) + 1)
        return {at: kinds.get(at, "null") for at in columns}, last


@contextmanager
def as_input_error(path: Path, errors: tuple[type[Exception], ...] = UNREADABLE) -> Iterator[None]:
    """Translate what reading a workbook raises; what to do may follow its last semicolon.

    Raises:
        InputError: one of the errors occurred.
    """
    try:
        yield
    except errors as error:
        refuse_other_contents(path, "Excel")
        line = str(error).splitlines()[0].rstrip(".") if str(error) else repr(error)
        reason, _, advice = line.rpartition("; ")
        if not reason:
            reason, advice = line, CHECK_FILE
        raise InputError(
            f"{path} cannot be read as an Excel workbook: {reason}.",
            f"{advice[0].upper()}{advice[1:]}.",
        ) from error


@dataclass(frozen=True, slots=True)
class _Table:
    """Where the table is: its sheet, and the row with the column names."""

    name: str
    grid: Grid
    header_row: int
    header: Row


def _find_table(
    path: Path, book: Workbook, text_columns: Sequence[str], options: ExcelOptions
) -> _Table:
    """Return where the table is: in the first sheet that has all text columns.

    If none has, or no column is named, the table is in the sheet with the most column names: a
    cover has few cells, and the error about the missing columns should be about the table.

    Raises:
        InputError: there is no such sheet, or no sheet has a table.
    """
    sheets = _sheets(path, book, options)
    wanted = set(text_columns)
    best, most = None, 0
    for table in _tables(book, sheets, wanted, options):
        names = _names(table.header)
        if wanted and has_all(names, wanted):
            return table
        if len(names) > most:
            best, most = table, len(names)
    if best:
        return best
    raise InputError(
        f"{path} has no table: {listed([sheet.name for sheet in sheets])} "
        f"{'is' if len(sheets) == 1 else 'are'} empty"
        + (f" in row {options.header_row}." if options.header_row else "."),
        f"Name the sheet with the table, {excel_option('sheet', 'NAME')}, or the row of the "
        f"column names, {excel_option('header_row', 1)}.",
    )


def _tables(
    book: Workbook, sheets: Sequence[Sheet], columns: set[str], options: ExcelOptions
) -> Iterator[_Table]:
    for sheet in sheets:
        grid = book.grid(sheet)
        within = islice(grid.rows(), options.header_row or HEADER_WITHIN)
        rows = _spread(dict(enumerate(within, 1)), grid.merged)
        top = {number: row for number, row in rows.items() if any(c != "" for c in row)}
        number = options.header_row or _header_row(top, columns, grid.merged)
        if number in top:
            yield _Table(sheet.name, grid, number, top[number])


def _sheets(path: Path, book: Workbook, options: ExcelOptions) -> list[Sheet]:
    """Return the sheet that the options name, by its name or number, or else the visible ones."""
    if options.sheet is None:
        sheets = [sheet for sheet in book.sheets if not sheet.hidden]
    else:
        sheets = [sheet for sheet in book.sheets if sheet.name == options.sheet]
        if not sheets and options.sheet.isdecimal():
            sheets = book.sheets[int(options.sheet) - 1 :][:1] if int(options.sheet) else []
    if sheets:
        return sheets
    names = listed([sheet.name for sheet in book.sheets])
    what = "no visible sheet" if options.sheet is None else f"no sheet {quoted(options.sheet)}"
    raise InputError(
        f"{path} has {what}. Its sheets: {names}.",
        f"Name one of them: {excel_option('sheet', 'NAME')}.",
    )


def _spread(rows: Mapping[int, Row], merged: Mapping[tuple[int, int], int]) -> Mapping[int, Row]:
    """Return rows by their number, with the value of merged cells in each row that they are over.

    A name is often merged over two rows, beside another one that has names below it.
    """
    spread = {number: [*row] for number, row in rows.items()}
    for (first, column), last in merged.items():
        for number in range(first + 1, min(last, max(rows, default=0)) + 1):
            spread[number] += [""] * (column + 1 - len(spread[number]))
            spread[number][column] = _at(rows[first], column)
    return spread


def _header_row(
    top: Mapping[int, Row], text_columns: set[str], merged: Mapping[tuple[int, int], int]
) -> int:
    """Return the number of the first row that names all text columns; 0 if there are no rows.

    Of names that are merged over rows, it is the last row. Without such a row, it is the first one
    with the most texts.
    """
    for number, row in top.items():
        if text_columns and has_all(_names(row), text_columns):
            columns = [at for at, cell in enumerate(row) if _is_one_of(cell, text_columns)]
            last = max(merged.get((number, at), number) for at in columns)
            return last if last in top else number
    return max(top, key=lambda number: _texts(top[number]), default=0)


def _is_one_of(cell: Value, names: set[str]) -> bool:
    return any(own_name({_text(cell)}, name) is not None for name in names)


def _names(row: Row) -> set[str]:
    return {_text(cell) for cell in row if cell != ""}


def _texts(row: Row) -> int:
    return sum(isinstance(cell, str) and cell != "" for cell in row)


def _at(row: Row, column: int) -> Value:
    return row[column] if column < len(row) else ""


def _length(row: Row) -> int:
    return sum(len(cell) for cell in row if isinstance(cell, str))


class _MergedTexts:
    """The texts of rows that are read in order: that of merged cells belongs to all their rows."""

    def __init__(self, last_rows: Mapping[tuple[int, int], int]) -> None:
        self._last_rows = last_rows
        self._current: dict[int, tuple[int, Value]] = {}

    def text(self, number: int, row: Row, where: TextColumn) -> str | None:
        """Return the text of a row in a text column."""
        cell = _at(row, where.place)
        if last := self._last_rows.get((number, where.place)):
            self._current[where.place] = last, cell
        last, above = self._current.get(where.place, (0, ""))
        cell = above if number <= last else cell
        return None if isinstance(cell, CellError) else where.of(_text(cell))


def _kind(cell: Value) -> Kind:
    match cell:
        case bool():
            return "bool"
        case float() if isfinite(cell):
            return "int" if cell.is_integer() and abs(cell) <= WHOLE else "float"
        case datetime():
            return "datetime"
        case date():
            return "date"
        case timedelta():
            return "float"
        case _:
            return "text"


def _value(cell: Value, kind: Kind) -> Any:
    """Return a cell as a value for a column of a kind."""
    match cell:
        case _ if kind in ("text", "null"):
            return _text(cell)
        case timedelta():  # an elapsed time, as Excel stores it
            return cell / DAY
        case float() if kind == "int":
            return int(cell)
        case date() if kind == "datetime" and not isinstance(cell, datetime):
            return datetime(cell.year, cell.month, cell.day)
        case _:
            return cell


def _text(cell: Value) -> str:
    """Return a cell as text: dates as ISO 8601, booleans as true and false."""
    match cell:
        case str():
            return str(cell)
        case bool():
            return "true" if cell else "false"
        case float():
            whole = isfinite(cell) and cell.is_integer() and abs(cell) <= WHOLE
            return str(int(cell)) if whole else repr(cell)
        case timedelta():
            return _text(cell / DAY)
        case _:
            return str(cell)
