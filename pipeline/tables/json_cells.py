"""Reads fields of nested values that a text column holds as JSON, as this tool writes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.quoting import quoted
from pipeline.tables.json_records import NESTED_NAMES, nested_names, parsed, texts_at
from pipeline.tables.texts import check_absent, encodable, find_columns, join_texts

__all__ = ["CellText", "check_found", "find_cell_texts", "holders"]


@dataclass(slots=True)
class CellText:
    """Where the text of a row is.

    Attributes:
        place: the position of the column.
        column: its name.
        path: the field in the JSON of its cells, such as ``title``; "" for the cell itself.
        is_settled: whether a cell had the field, or a warning said that none has.
        fields: the fields that cells had, until one had it.
    """

    place: int
    column: str
    path: str = ""
    is_settled: bool = False
    fields: dict[str, None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the text column, such as ``tender.title``."""
        return f"{self.column}.{self.path}" if self.path else self.column

    def of(self, cell: str | None) -> str | None:
        """Return the text in a cell of the column; the items of a list are joined.

        Raises:
            InputError: the cell holds no JSON with such fields.
        """
        if not self.path or not cell or cell.isspace():
            return cell
        key = f"{{{json.dumps(self.column)}:"
        try:
            record = parsed(f"{key}{cell}}}", len(key))
            if isinstance(record[self.column], str | bool):
                raise ValueError(f"{quoted(cell)} is a single value")
            texts = texts_at(record, self.name)
            self._note(record, texts is not None)
            return encodable([join_texts(texts or ())])[0]
        except ValueError as error:
            raise InputError(
                f"{quoted(self.name)} cannot be read from the JSON in column "
                f"{quoted(self.column)}: {error}.",
                f"If the column itself is the text, name it: --text-column {self.column!r}.",
            ) from error

    def _note(self, record: dict[str, Any], is_found: bool) -> None:
        if self.is_settled or is_found:
            self.is_settled = True
        elif len(self.fields) < NESTED_NAMES:
            self.fields |= dict.fromkeys(nested_names(record))


def check_found(
    cells: Iterable[CellText], names: Sequence[str], wanted: Sequence[str], table: Path | str
) -> None:
    """Refuse a field that no row of a table had, once all of it is read; see `check_absent`.

    Raises:
        InputError: there are other fields, but not this one.
    """
    absent = [cell for cell in cells if cell.fields and not cell.is_settled]
    fields = dict.fromkeys(name for cell in absent for name in cell.fields)
    check_absent([*names, *fields], [cell.name for cell in absent], wanted, table)
    for cell in absent:
        cell.is_settled = True


def find_cell_texts(
    names: Sequence[str],
    wanted: Sequence[str],
    table: Path | str,
    may_hold: Collection[str] | None = None,
) -> list[CellText]:
    """Return where the texts are; ``tender.title`` may be in the JSON of the column ``tender``.

    Only the columns that ``may_hold`` JSON are looked into; None for all.

    Raises:
        InputError: a column is missing, or several have its name.
    """
    columns = holders(names, wanted, may_hold)
    places = find_columns(names, columns, table)
    return [
        CellText(place, column, name[len(column) + 1 :])
        for place, column, name in zip(places, columns, wanted, strict=True)
    ]


def holders(
    names: Sequence[str], wanted: Sequence[str], may_hold: Collection[str] | None = None
) -> list[str]:
    """Return the column that each text is in; the wanted name if there is none.

    Only the columns that ``may_hold`` fields are looked into; None for all.
    """
    may_hold = names if may_hold is None else may_hold
    return [name if name in names else _holder(may_hold, name) for name in wanted]


def _holder(columns: Collection[str], wanted: str) -> str:
    """Return the column that a dotted name begins with, or the name if there is none."""
    column = wanted.rpartition(".")[0]
    while column and column not in columns:
        column = column.rpartition(".")[0]
    return column or wanted
