"""Adds the code table in the official UNSPSC file, which a user has downloaded."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.codes.added import path_of, read
from pipeline.codes.normalization import normalized
from pipeline.codes.table import CodeTable
from pipeline.errors import CodeTableError, reason
from pipeline.files.atomic import new_file
from pipeline.files.regular import open_regular
from pipeline.files.workbook import UNREADABLE as NO_WORKBOOK
from pipeline.files.workbook import Workbook
from pipeline.wording import quoted

Cells: TypeAlias = Mapping[int, str]
"""The non-empty cells of a row, by the number of their column, from 0."""

HEADER_WITHIN = 20
"""Rows in which to look for the column names: the official spreadsheet has a notice above them."""

DELIMITERS = ",;\t"

LEVELS = ("segment", "family", "class", "commodity")

HINT = (
    "Give the official UNSPSC spreadsheet, or a CSV file with the columns Segment, Segment Title, "
    "Family, Family Title, Class, Class Title, Commodity, Commodity Title, or just Code and Title."
)

UNREADABLE = (*NO_WORKBOOK, csv.Error)
"""What reading raises for a file that is damaged, encrypted, too large or of another kind."""


def add(file: Path) -> CodeTable:
    """Read the official UNSPSC file, save its table in the user's data folder and return it.

    Raises:
        CodeTableError: the file cannot be read, has no UNSPSC codes, or cannot be saved.
    """
    titles = _titles(file)
    if not titles:
        raise CodeTableError(f"{file} holds no UNSPSC codes.", HINT)
    table = pa.table({"code": sorted(titles), "title": [titles[code] for code in sorted(titles)]})
    about = {"edition": f"added {datetime.now(UTC):%Y-%m-%d}", "source": f"your file {file.name}"}
    path = path_of("unspsc")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as draft:  # the old table serves until then
            pq.write_table(table.replace_schema_metadata(about), draft)
    except OSError as error:
        raise CodeTableError(
            f"The table cannot be saved: {reason(error)}.",
            f"Check the free space and the permissions of {path.parent}.",
        ) from error
    return read(path, path.stat().st_mtime_ns)


def _titles(file: Path) -> dict[str, str]:
    rows = _rows(file)
    top = list(islice(rows, HEADER_WITHIN))
    for number, row in enumerate(top):
        if columns := _columns(row):
            return dict(_codes(chain(top[number + 1 :], rows), columns))
    raise CodeTableError(f"{file} has no column names in its first {HEADER_WITHIN} rows.", HINT)


def _columns(row: Cells) -> list[tuple[int, int]]:
    """Return the columns of codes, each with that of its titles; none if this row has no names."""
    names: dict[str, int] = {}
    for column, cell in row.items():
        names.setdefault(_text(cell).casefold(), column)
    if all(level in names for level in LEVELS):
        return [
            (names[level], names[f"{level} title"]) for level in LEVELS if f"{level} title" in names
        ]
    if "code" in names and "title" in names:
        return [(names["code"], names["title"])]
    return []


def _codes(rows: Iterable[Cells], columns: Iterable[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    for row in rows:
        for column, beside in columns:
            code, title = _text(row.get(column, "")), _text(row.get(beside, ""))
            if code and title:
                full = normalized("unspsc", code)
                if full is None:
                    raise CodeTableError(f"{quoted(code)} is not a UNSPSC code.", HINT)
                yield full, title


def _text(cell: str) -> str:
    return " ".join(cell.split())


def _rows(file: Path) -> Iterator[Cells]:
    try:
        if file.name.lower().endswith((".csv", ".csv.gz")):
            with open_regular(file) as content:
                packed = file.suffix.lower() == ".gz"
                source = gzip.GzipFile(fileobj=content) if packed else content
                text = source.read().decode("utf-8-sig")
            for cells in csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)):
                yield dict(enumerate(cells))
        else:
            with Workbook(file) as workbook:
                for row in workbook.grid(workbook.sheets[0]).rows():
                    yield {at: str(value) for at, value in enumerate(row) if value != ""}
    except UNREADABLE as error:
        raise CodeTableError(f"{file} cannot be read: {reason(error)}.", HINT) from error


def _delimiter(text: str) -> str:
    """Return the delimiter that yields known column names; Excel's depends on the country."""
    top = list(islice(io.StringIO(text, newline=""), HEADER_WITHIN))
    for delimiter in DELIMITERS:
        if any(_columns(dict(enumerate(row))) for row in csv.reader(top, delimiter=delimiter)):
            return delimiter
    return ","
