"""Code tables that the user adds: the official UNSPSC file, which may not be shipped whole."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from python_calamine import CalamineWorkbook

from pipeline.answers import System
from pipeline.codes.levels import parent
from pipeline.codes.table import CodeTable
from pipeline.errors import CodeTableError, SettingsError
from pipeline.folders import data_folder

__all__ = ["add", "added", "remove"]

HEADER_WITHIN = 20
"""The official spreadsheet has a notice above its column names."""

DELIMITERS = ",;\t"

LEVELS = ("segment", "family", "class", "commodity")

HINT = (
    "Give the official UNSPSC spreadsheet, or a CSV file with the columns Segment, Segment Title, "
    "Family, Family Title, Class, Class Title, Commodity, Commodity Title, or just Code and Title."
)


DAMAGE = (OSError, pa.ArrowException, LookupError, AttributeError, TypeError, ValueError)
"""What reading raises where a table is torn, or was not written by us: no metadata, other columns,
values of other types."""


class _Columns(NamedTuple):
    code: int
    title: int


def add(file: Path) -> CodeTable:
    """Read the official UNSPSC file, keep it in the user's data folder and return it.

    Raises:
        CodeTableError: the file cannot be read, is not what it should be or cannot be kept.
    """
    titles = _titles(file)
    if not titles:
        raise CodeTableError(f"{file} holds no UNSPSC codes.", HINT)
    table = pa.table({"code": sorted(titles), "title": [titles[code] for code in sorted(titles)]})
    about = {"edition": f"added {datetime.now(UTC):%Y-%m-%d}", "source": f"your file {file.name}"}
    path = _path("unspsc")
    try:
        _keep(table.replace_schema_metadata(about), path)
    except OSError as error:
        raise CodeTableError(
            f"The table cannot be kept: {error}.",
            f"Make room in {path.parent}, or let it be written to.",
        ) from error
    return _read(path, path.stat().st_mtime_ns)


def added(system: System) -> CodeTable | None:
    """Return the table that the user added for a system, if any.

    Raises:
        CodeTableError: it is damaged.
    """
    try:
        path = _path(system)
    except SettingsError:  # without a home folder nothing can have been added
        return None
    try:
        changed = path.stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _damaged(path, error) from error
    return _read(path, changed)


def remove(system: System) -> bool:
    """Forget an added table; tell whether there was one.

    Raises:
        CodeTableError: it cannot be removed.
    """
    path = _path(system)
    try:
        path.unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise CodeTableError(
            f"The added table {path} cannot be removed: {error.strerror}.",
            f"Remove it by hand, or let {path.parent} be written to.",
        ) from error
    return True


def _path(system: System) -> Path:
    return data_folder() / "codes" / f"{system}.parquet"


def _keep(table: pa.Table, path: Path) -> None:
    """Write beside the place and move there, so that the old table serves until then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{uuid4().hex}.tmp")  # one for each of two at once
    try:
        pq.write_table(table, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@lru_cache(maxsize=2)
def _read(path: Path, changed: int) -> CodeTable:  # noqa: ARG001 - a changed file is read anew
    try:
        table = pq.read_table(path)
        about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
        titles = dict(zip(table["code"].to_pylist(), table["title"].to_pylist(), strict=True))
        parents = {code: parent("unspsc", code, titles) for code in titles}
        edition, source = about["edition"], about["source"]
    # Not written by us, or not to its end: no metadata, other columns, values of other types.
    except (
        OSError,
        pa.ArrowException,
        LookupError,
        AttributeError,
        TypeError,
        ValueError,
    ) as error:
        raise _damaged(path, error) from error
    return CodeTable("unspsc", edition, source, "as its publisher states", titles, parents)


def _damaged(path: Path, error: Exception) -> CodeTableError:
    return CodeTableError(
        f"The added table {path} cannot be read: {error}.",
        "Forget it (tender-pipeline codes remove unspsc), then add your file again.",
    )


def _titles(file: Path) -> dict[str, str]:
    rows = _rows(file)
    top = list(islice(rows, HEADER_WITHIN))
    for number, row in enumerate(top):
        if columns := _columns(row):
            return dict(_codes(chain(top[number + 1 :], rows), columns))
    raise CodeTableError(
        f"None of the first {HEADER_WITHIN} rows of {file} names the columns.", HINT
    )


def _columns(row: Sequence[Any]) -> list[_Columns]:
    """Return where codes and their titles stand; nothing if this row does not name them."""
    names = [_text(cell).casefold() for cell in row]
    if all(level in names for level in LEVELS):
        return [
            _Columns(names.index(level), names.index(f"{level} title"))
            for level in LEVELS
            if f"{level} title" in names
        ]
    if "code" in names and "title" in names:
        return [_Columns(names.index("code"), names.index("title"))]
    return []


def _codes(rows: Iterable[Sequence[Any]], columns: Sequence[_Columns]) -> Iterator[tuple[str, str]]:
    for row in rows:
        for at in columns:
            if max(at) < len(row):
                code, title = _text(row[at.code]), _text(row[at.title])
                if code and title:
                    yield _checked(code), title


def _checked(code: str) -> str:
    if not (code.isascii() and code.isdigit() and len(code) in (2, 4, 6, 8)):
        raise CodeTableError(f"{code!r} is not a UNSPSC code.", HINT)
    return code.ljust(8, "0")


def _text(cell: Any) -> str:
    """Return a cell as text; spreadsheets hold codes as numbers, some as 10101501.0."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return " ".join(str(cell).split())


def _rows(file: Path) -> Iterator[Sequence[Any]]:
    try:
        if file.name.lower().endswith((".csv", ".csv.gz")):
            packed = file.suffix.lower() == ".gz"
            text = (gzip.decompress if packed else bytes)(file.read_bytes()).decode("utf-8-sig")
            return iter(list(csv.reader(io.StringIO(text), delimiter=_delimiter(text))))
        sheet = CalamineWorkbook.from_path(str(file)).get_sheet_by_index(0)
        return iter(sheet.to_python(skip_empty_area=False))
    except Exception as error:  # the spreadsheet reader raises its own, undocumented kinds
        raise CodeTableError(f"{file} cannot be read: {error}.", HINT) from error


def _delimiter(text: str) -> str:
    """Return what splits a line into column names; Excel writes what its country is used to."""
    top = list(islice(io.StringIO(text), HEADER_WITHIN))
    for delimiter in DELIMITERS:
        if any(map(_columns, csv.reader(top, delimiter=delimiter))):
            return delimiter
    return ","
