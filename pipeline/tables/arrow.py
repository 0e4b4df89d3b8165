"""Reads and writes Arrow tables in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from pipeline.tables.arrow_batches import ArrowBatch, bounded
from pipeline.tables.arrow_texts import check_fields, find_text_columns
from pipeline.tables.table import BATCH_ROWS, Batch, NewColumn

__all__ = ["ArrowReader", "ArrowWriter", "appended", "with_columns", "with_metadata"]

PANDAS = b"pandas"
"""The metadata entry in which pandas describes a frame."""


class ArrowReader:
    """A table in memory.

    The other rows of a part may have the fields of text columns that its own rows lack.
    """

    opened_fingerprint = ""

    def __init__(self, table: pa.Table, text_columns: Sequence[str], part: bool = False) -> None:
        self._table = table
        self._part = part
        self._text_columns = find_text_columns(table.schema, text_columns, "The table")

    @property
    def schema(self) -> pa.Schema:
        """The table's schema."""
        return self._table.schema

    def batches(self) -> Iterator[ArrowBatch]:
        """Read the table from its beginning; see `Reader.batches`."""
        yield from bounded(self._chunks(), self.schema, self._text_columns)
        if not self._part:
            check_fields(self._text_columns, self.schema.names, "The table")

    def fingerprint(self) -> str:
        """Return "": a table in memory does not change."""
        return ""

    def _chunks(self) -> Iterator[pa.RecordBatch]:
        for start in range(0, self._table.num_rows, BATCH_ROWS):
            # A table concatenated from many small ones has many small chunks.
            rows = self._table.slice(start, BATCH_ROWS).combine_chunks()
            yield from rows.to_batches()


class ArrowWriter:
    """Collects a table in memory.

    Attributes:
        table: the whole table, after `close`.
    """

    def __init__(self, schema: pa.Schema, new_fields: Sequence[pa.Field]) -> None:
        self.replaced_characters = 0
        self._schema = with_columns(schema, new_fields)
        self._batches: list[pa.RecordBatch] = []
        # Schema.empty_table() fails for unions and for extension types within structs.
        self.table: pa.Table = pa.Table.from_batches([], schema=self._schema)

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Keep the batch's original columns followed by the new ones."""
        self._batches.append(appended(batch, columns, self._schema))

    def close(self, metadata: dict[str, str]) -> None:
        """Build the table."""
        table = pa.Table.from_batches(self._batches, schema=self._schema)
        entries = with_metadata(self._schema.metadata, metadata, table.num_rows)
        self.table = table.replace_schema_metadata(entries or None)

    def abort(self) -> None:
        """Drop the rows."""
        self._batches.clear()


def with_columns(schema: pa.Schema, new_fields: Sequence[pa.Field]) -> pa.Schema:
    """Return the schema followed by more columns, with its metadata."""
    return pa.schema([*schema, *new_fields], metadata=schema.metadata)


def with_metadata(
    old: Mapping[bytes, bytes] | None, new: Mapping[str, str], rows: int
) -> dict[bytes, bytes]:
    """Return a schema's metadata updated with new entries.

    ``rows`` is their final number, for the index of a pandas frame.
    """
    encoded = {name.encode(): value.encode() for name, value in new.items()}
    return {**_with_index_of(old, rows), **encoded}


def appended(batch: Batch, columns: Sequence[NewColumn], schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch's columns followed by new ones."""
    new = [pa.array(column.values, type=column.type) for column in columns]
    return pa.RecordBatch.from_arrays([*batch.to_arrow().columns, *new], schema=schema)


def _with_index_of(metadata: Mapping[bytes, bytes] | None, rows: int) -> dict[bytes, bytes]:
    """Return schema metadata in which a range index is no longer than the rows.

    pandas stores a range index as start, stop and step. If there are fewer rows, Arrow would drop
    it and make a new one.
    """
    entries = dict(metadata or {})
    try:
        notes = json.loads(entries.get(PANDAS, b"{}"))
        changed = [_shorten(index, rows) for index in notes.get("index_columns", [])]
    except (ValueError, AttributeError, KeyError, TypeError):
        return entries  # not written by pandas: keep it
    if any(changed):
        entries[PANDAS] = json.dumps(notes).encode()
    return entries


def _shorten(index: object, rows: int) -> bool:
    """Shorten a range index in place; return whether it was too long."""
    if not isinstance(index, dict) or index.get("kind") != "range":
        return False
    start, step = int(index["start"]), int(index["step"])
    if len(range(start, int(index["stop"]), step)) <= rows:
        return False
    index["stop"] = start + rows * step
    return True
