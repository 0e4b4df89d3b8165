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
from pipeline.tables.texts import check_absent, encodable, find_columns, join_parts, own_name

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
            return encodable([join_parts(texts or ())])[0]
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
    may_hold = names if may_hold is None else may_hold
    split = [_split(names, name, may_hold) for name in wanted]
    places = find_columns(names, [column for column, _ in split], table)
    return [
        CellText(place, column, path) for place, (column, path) in zip(places, split, strict=True)
    ]


def holders(names: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """Return the column that each text is in, as the table names it; the wanted name without one.

    ``tender.title`` may be in the column ``tender``.
    """
    return [_split(names, name, names)[0] for name in wanted]


def _split(names: Sequence[str], wanted: str, may_hold: Collection[str]) -> tuple[str, str]:
    """Split a wanted name into that of a column and of a field in it; the field is often ""."""
    if own := own_name(names, wanted):
        return own, ""
    column, dot, path = wanted.rpartition(".")
    while dot and own_name(may_hold, column) is None:
        column, dot, _ = column.rpartition(".")
        path = wanted[len(column) + 1 :]
    return (own_name(may_hold, column) or column, path) if dot else (wanted, "")
