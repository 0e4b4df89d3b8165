"""Finds the table in a workbook: its sheet, and the row with the column names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pipeline.errors import InputError
from pipeline.file_options import ExcelOptions
from pipeline.files.workbook import Row, Sheet, Workbook
from pipeline.quoting import listed, quoted
from pipeline.tables.xlsx_cells import CellValues

__all__ = ["Layout", "find_layout"]

HEADER_WITHIN = 100
"""Rows in which the column names are looked for."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the table is.

    ``above`` has the rows above the column names by their numbers, from 1; ``others`` the names of
    the other sheets that the options allow.
    """

    sheet: Sheet
    header_row: int
    header: Row
    above: Mapping[int, Row]
    others: Sequence[str]


def find_layout(
    path: Path,
    book: Workbook,
    values: CellValues,
    text_columns: Sequence[str],
    options: ExcelOptions,
) -> Layout:
    """Return where the table is: in the first sheet that has all text columns.

    If none has, or no column is named, the table is in the sheet with the most column names: a
    cover has few cells, and the error about the missing columns should be about the table.

    Raises:
        InputError: there is no such sheet, or no sheet has a table.
    """
    sheets = _sheets(path, book, options)
    wanted = set(text_columns)

    def names(row: Row) -> set[str]:
        return {values.text(cell) for cell in row.values()}

    layouts = []
    for sheet in sheets:
        top = _top(book, sheet, options)
        number = options.header_row or _header_row(top, names, wanted)
        if number in top:
            above = {row: cells for row, cells in top.items() if row < number}
            others = [other.name for other in sheets if other != sheet]
            layouts.append(Layout(sheet, number, top[number], above, others))
    for layout in layouts:
        if wanted and wanted <= names(layout.header):
            return layout
    if layouts:
        return max(layouts, key=lambda layout: len(names(layout.header)))
    raise InputError(
        f"{path} has no table: {listed([sheet.name for sheet in sheets])} "
        f"{'is' if len(sheets) == 1 else 'are'} empty"
        + (f" in row {options.header_row}." if options.header_row else "."),
        "Name the sheet with the table, --sheet NAME, or the row of the column names, "
        "--header-row 1.",
    )


def _sheets(path: Path, book: Workbook, options: ExcelOptions) -> list[Sheet]:
    """Return the sheet that the options name, by its name or number, or else the visible ones."""
    if options.sheet is None:
        found = [sheet for sheet in book.sheets if not sheet.hidden]
    else:
        found = [sheet for sheet in book.sheets if sheet.name == options.sheet]
        if not found and options.sheet.isdecimal():
            found = book.sheets[int(options.sheet) - 1 :][:1] if int(options.sheet) else []
    if found:
        return found
    names = listed([sheet.name for sheet in book.sheets])
    what = "no visible sheet" if options.sheet is None else f"no sheet {quoted(options.sheet)}"
    raise InputError(f"{path} has {what}. Its sheets: {names}.", "Name one of them: --sheet NAME.")


def _top(book: Workbook, sheet: Sheet, options: ExcelOptions) -> Mapping[int, Row]:
    """Return the rows near the top that are not empty, by their numbers."""
    within = options.header_row or HEADER_WITHIN
    first = takewhile(lambda found: found[0] <= within, book.rows(sheet))
    return {number: row for number, row in first if row}


def _header_row(top: Mapping[int, Row], names: Callable[[Row], set[str]], wanted: set[str]) -> int:
    """Return the number of the first row that names all text columns; 0 if there are no rows.

    Without such a row, it is the first one with the most texts.
    """
    named = (number for number, row in top.items() if wanted and wanted <= names(row))
    return next(named, 0) or max(top, key=lambda number: _texts(top[number]), default=0)


def _texts(row: Row) -> int:
    return sum(cell.kind == "text" for cell in row.values())
