"""Reads fields of nested values that a text column holds as JSON, as this tool writes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import InputError
from pipeline.quoting import quoted
from pipeline.tables.json_records import parsed, texts_at
from pipeline.tables.texts import encodable, find_columns, join_texts

__all__ = ["CellText", "find_cell_texts"]


@dataclass(frozen=True, slots=True)
class CellText:
    """Where the text of a row is.

    Attributes:
        place: the position of the column.
        column: its name.
        path: the field in the JSON of its cells, such as ``title``; "" for the cell itself.
    """

    place: int
    column: str
    path: str = ""

    def of(self, cell: str | None) -> str | None:
        """Return the text in a cell of the column; the items of a list are joined.

        Raises:
            InputError: the cell holds no JSON with such fields.
        """
        if not self.path or not cell or cell.isspace():
            return cell
        name = f"{self.column}.{self.path}"
        try:
            record = parsed(f"{{{json.dumps(self.column)}:{cell}}}")
            if isinstance(record[self.column], str | bool):
                raise ValueError(f"{quoted(cell)} is a single value")
            return encodable([join_texts(texts_at(record, name) or ())])[0]
        except ValueError as error:
            raise InputError(
                f"{quoted(name)} cannot be read from the JSON in column {quoted(self.column)}: "
                f"{error}.",
                f"If the column itself is the text, name it: --text-column {self.column!r}.",
            ) from error


def find_cell_texts(
    names: Sequence[str],
    wanted: Sequence[str],
    table: Path | str,
    holders: Collection[str] | None = None,
) -> list[CellText]:
    """Return where the texts are; ``tender.title`` may be in the JSON of the column ``tender``.

    Args:
        names: the names of all columns.
        wanted: the names of the text columns.
        table: the table's name in errors.
        holders: the columns that may hold JSON; None for all.

    Raises:
        InputError: a column is missing, or several have its name.
    """
    columns = [
        name if name in names else _holder(names if holders is None else holders, name)
        for name in wanted
    ]
    places = find_columns(names, columns, table)
    return [
        CellText(place, column, name[len(column) + 1 :])
        for place, column, name in zip(places, columns, wanted, strict=True)
    ]


def _holder(holders: Collection[str], wanted: str) -> str:
    """Return the column that a dotted name begins with, or the name if there is none."""
    column = wanted.rpartition(".")[0]
    while column and column not in holders:
        column = column.rpartition(".")[0]
    return column or wanted
