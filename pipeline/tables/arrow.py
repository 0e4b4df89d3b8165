"""Reads and writes tables that are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.tables.cells import is_binary
from pipeline.tables.table import BATCH_ROWS, Batch, NewColumn
from pipeline.tables.texts import find_columns, join_texts

__all__ = [
    "ArrowBatch",
    "ArrowReader",
    "ArrowWriter",
    "column_texts",
    "with_columns",
    "with_metadata",
]


@dataclass(frozen=True, slots=True)
class ArrowBatch:
    """Rows of an Arrow table, with the text of each."""

    texts: Sequence[str]
    batch: pa.RecordBatch

    def to_arrow(self) -> pa.RecordBatch:
        """Return the rows' original columns."""
        return self.batch

    def head(self, rows: int) -> ArrowBatch:
        """Return the first rows only."""
        return ArrowBatch(self.texts[:rows], self.batch.slice(0, rows))


class ArrowReader:
    """A table in memory, read as often as asked."""

    def __init__(self, table: pa.Table, text_columns: Sequence[str]) -> None:
        self._table = table
        self._text_at = find_columns(table.column_names, text_columns, "The table")
        check_text_types(table.schema, self._text_at)

    @property
    def schema(self) -> pa.Schema:
        """The table's own schema."""
        return self._table.schema

    def batches(self) -> Iterator[ArrowBatch]:
        """Read the table from its beginning."""
        for start in range(0, self._table.num_rows, BATCH_ROWS):
            # A table put together from many small ones has many small chunks.
            rows = self._table.slice(start, BATCH_ROWS).combine_chunks()
            (batch,) = rows.to_batches()
            yield ArrowBatch(batch_texts(batch, self._text_at), batch)

    def fingerprint(self) -> str:
        """Return nothing: a table in memory does not change under us."""
        return ""


class ArrowWriter:
    """A table being gathered in memory.

    Attributes:
        table: the whole table, once closed.
    """

    def __init__(self, schema: pa.Schema, new_fields: Sequence[pa.Field]) -> None:
        self.replaced_characters = 0
        self._schema = with_columns(schema, new_fields)
        self._batches: list[pa.RecordBatch] = []
        self.table: pa.Table = self._schema.empty_table()

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Keep the batch's original columns and the new ones behind them."""
        self._batches.append(appended(batch, columns, self._schema))

    def close(self, metadata: dict[str, str]) -> None:
        """Put the batches together."""
        schema = with_metadata(self._schema, metadata)
        table = pa.Table.from_batches(self._batches, schema=self._schema)
        self.table = table.replace_schema_metadata(schema.metadata)

    def abort(self) -> None:
        """Let go of the rows."""
        self._batches.clear()


def with_columns(schema: pa.Schema, new_fields: Sequence[pa.Field]) -> pa.Schema:
    """Return the schema with more columns behind its own; its metadata stay."""
    return pa.schema([*schema, *new_fields], metadata=schema.metadata)


def with_metadata(schema: pa.Schema, metadata: dict[str, str]) -> pa.Schema:
    """Return the schema with more metadata; a name that it has already gets the new value."""
    new = {name.encode(): value.encode() for name, value in metadata.items()}
    return schema.with_metadata({**(schema.metadata or {}), **new} or None)


def appended(batch: Batch, columns: Sequence[NewColumn], schema: pa.Schema) -> pa.RecordBatch:
    """Put new columns behind a batch's own."""
    new = [pa.array(column.values, type=column.type) for column in columns]
    return pa.RecordBatch.from_arrays([*batch.to_arrow().columns, *new], schema=schema)


def batch_texts(batch: pa.RecordBatch, text_at: Sequence[int]) -> list[str]:
    """Return the text of every row of a batch; "" where no column is a text column."""
    if not text_at:
        return [""] * batch.num_rows
    columns = [column_texts(batch.column(place)) for place in text_at]
    return [join_texts(values) for values in zip(*columns, strict=True)]


def column_texts(column: pa.Array) -> list[str | None]:
    """Return a column's values as text, None for null."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    texts: list[str | None] = column.cast(pa.string()).to_pylist()
    return texts


def check_text_types(schema: pa.Schema, text_at: Sequence[int]) -> None:
    """Refuse text columns whose values cannot be read as text.

    Raises:
        InputError: a text column is nested, binary or of another type without a text form.
    """
    for place in text_at:
        field = schema.field(place)
        if not _has_text(field.type):
            raise InputError(
                f"The column {field.name!r} holds {field.type}, which is not text.",
                "Name a column that holds text: --text-column NAME.",
            )


def _has_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_text(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _has_text(kind.storage_type)
    try:
        column_texts(pa.nulls(1, kind))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return not is_binary(kind)
