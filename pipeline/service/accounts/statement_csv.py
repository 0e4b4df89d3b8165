"""Writes a statement as CSV: exact, in pieces, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO

from pipeline.money import plain
from pipeline.service.accounts.keys import ApiKey
from pipeline.service.accounts.statement import Entry
from pipeline.service.times import iso
from pipeline.tables.cells import cell

__all__ = ["COLUMNS", "statement_csv"]

COLUMNS = (
    "entry",
    "time",
    "kind",
    "system",
    "key",
    "key_name",
    "amount_usd",
    "balance_usd",
    "note",
)
"""The columns; times are UTC in ISO 8601, charges are negative."""

CHARACTERS_AT_ONCE = 1 << 16

INNER_FORMULA = re.compile(r"""([,;:|][\s\ufeff"]*)(?=[\s\ufeff"']*[=+\-@＝＋－＠])""")  # noqa: RUF001 - Excel's
"""Where a formula would begin if a spreadsheet split the line at another separator, as it does at
semicolons where a comma is the decimal point."""


def statement_csv(entries: Iterable[Entry], keys: Iterable[ApiKey]) -> Iterator[str]:
    """Yield a CSV file with a header, in pieces of many lines, with the names of the keys."""
    names: dict[int | None, str] = {key.key_id: _text(key.name) for key in keys}
    written = StringIO(newline="")
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    for entry in entries:
        rows.writerow(_cells(entry, names))
        if written.tell() >= CHARACTERS_AT_ONCE:
            yield _taken(written)
    if written.tell():
        yield _taken(written)


def _cells(entry: Entry, names: Mapping[int | None, str]) -> tuple[object, ...]:
    """Return the cells of an entry; texts that people typed go through `_text`."""
    return (
        entry.entry_id,
        iso(entry.at),
        entry.kind,
        entry.system,
        entry.key_id,
        names.get(entry.key_id),
        plain(entry.amount_usd),
        plain(entry.balance_usd),
        _text(entry.note),
    )


def _text(text: str) -> str:
    """Put apostrophes before formulas, and drop control characters."""
    return INNER_FORMULA.sub(r"\1'", cell(text))


def _taken(written: StringIO) -> str:
    text = written.getvalue()
    written.seek(0)
    written.truncate()
    return text
