"""Reads and writes tables that are in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from pipeline.tables.arrow_batches import ArrowBatch, bounded, check_text_types
from pipeline.tables.frame_index import with_index_of
from pipeline.tables.table import BATCH_ROWS, Batch, NewColumn
from pipeline.tables.texts import find_columns

__all__ = ["ArrowReader", "ArrowWriter", "appended", "with_columns", "with_metadata"]


class ArrowReader:
    """A table in memory, read as often as asked."""

    opened_fingerprint = ""

    def __init__(self, table: pa.Table, text_columns: Sequence[str]) -> None:
        self._table = table
        self._text_at = find_columns(table.column_names, text_columns, "The table")
        check_text_types(table.schema, self._text_at)

    @property
    def schema(self) -> pa.Schema:
        """The table's own schema."""
        return self._table.schema

    def batches(self) -> Iterator[ArrowBatch]:
        """Read the table from its beginning; see `Reader.batches`."""
        return bounded(self._chunks(), self.schema, self._text_at)

    def fingerprint(self) -> str:
        """Return nothing: a table in memory does not change under us."""
        return ""

    def _chunks(self) -> Iterator[pa.RecordBatch]:
        for start in range(0, self._table.num_rows, BATCH_ROWS):
            # A table put together from many small ones has many small chunks.
            rows = self._table.slice(start, BATCH_ROWS).combine_chunks()
            yield from rows.to_batches()


class ArrowWriter:
    """A table being gathered in memory.

    Attributes:
        table: the whole table, once closed.
    """

    def __init__(self, schema: pa.Schema, new_fields: Sequence[pa.Field]) -> None:
        self.replaced_characters = 0
        self._schema = with_columns(schema, new_fields)
        self._batches: list[pa.RecordBatch] = []
        # The schema's own empty table refuses unions and extension types within structs.
        self.table: pa.Table = pa.Table.from_batches([], schema=self._schema)

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Keep the batch's original columns and the new ones behind them."""
        self._batches.append(appended(batch, columns, self._schema))

    def close(self, metadata: dict[str, str]) -> None:
        """Put the batches together."""
        table = pa.Table.from_batches(self._batches, schema=self._schema)
        entries = with_metadata(self._schema.metadata, metadata, table.num_rows)
        self.table = table.replace_schema_metadata(entries or None)

    def abort(self) -> None:
        """Let go of the rows."""
        self._batches.clear()


def with_columns(schema: pa.Schema, new_fields: Sequence[pa.Field]) -> pa.Schema:
    """Return the schema with more columns behind its own; its metadata stay."""
    return pa.schema([*schema, *new_fields], metadata=schema.metadata)


def with_metadata(
    old: Mapping[bytes, bytes] | None, new: Mapping[str, str], rows: int
) -> dict[bytes, bytes]:
    """Return a schema's metadata with more; a name that is there already gets the new value.

    Args:
        old: the schema's metadata.
        new: what is added.
        rows: how many rows the table has in the end.
    """
    encoded = {name.encode(): value.encode() for name, value in new.items()}
    return {**with_index_of(old, rows), **encoded}


def appended(batch: Batch, columns: Sequence[NewColumn], schema: pa.Schema) -> pa.RecordBatch:
    """Put new columns behind a batch's own."""
    new = [pa.array(column.values, type=column.type) for column in columns]
    return pa.RecordBatch.from_arrays([*batch.to_arrow().columns, *new], schema=schema)
