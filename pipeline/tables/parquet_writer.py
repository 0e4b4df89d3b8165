"""Writes Parquet, keeping the types, metadata and compression of a Parquet input."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import OutputError
from pipeline.quoting import quoted
from pipeline.tables.arrow import appended, with_columns, with_metadata
from pipeline.tables.parquet_reader import ARROW_SCHEMA
from pipeline.tables.table import Batch, NewColumn

__all__ = ["ParquetWriter"]

ROW_GROUP_ROWS = 64 * 1024
ROW_GROUP_BYTES = 64 * 1024 * 1024

MOST_COLUMNS = 999_999
"""Readers refuse a footer with a million schema elements, of which the root is one."""

DEFAULT_COMPRESSION = "zstd"

REFUSALS = (pa.ArrowNotImplementedError, pa.ArrowInvalid)

HINT_TYPE = "Drop the column, or write CSV: --output-format csv."


class ParquetWriter:
    """Writes a Parquet file in row groups of bounded size.

    It keeps the codec of each original leaf column; new columns get the most frequent one.

    Raises:
        OutputError: Parquet does not support a column's type, or there are too many columns.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        new_fields: Sequence[pa.Field],
        compression: Sequence[str],
    ) -> None:
        self.replaced_characters = 0
        self._schema = with_columns(schema, new_fields)
        self._held: list[pa.RecordBatch] = []
        self._rows = 0
        if len(self._schema) > MOST_COLUMNS:
            raise OutputError(
                f"{len(self._schema):,} columns are more than a Parquet file can hold.",
                "Write CSV: --output-format csv.",
            )
        codecs = _codecs(self._schema, compression)
        with ExitStack() as stack:
            # Python opens the file, since Arrow accepts only UTF-8 names.
            file = stack.enter_context(path.open("wb"))
            self._writer = pq.ParquetWriter(file, self._schema, compression=codecs, version="2.6")
            stack.callback(self._writer.close)
            self._closing = stack.pop_all()

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns followed by the new ones."""
        self._held.append(appended(batch, columns, self._schema))
        rows = sum(held.num_rows for held in self._held)
        if rows >= ROW_GROUP_ROWS or sum(held.nbytes for held in self._held) >= ROW_GROUP_BYTES:
            self._flush()

    def close(self, metadata: dict[str, str]) -> None:
        """Write the remaining rows and the footer, with the metadata."""
        self._flush()
        entries = with_metadata(self._schema.metadata, metadata, self._rows)
        if entries != (self._schema.metadata or {}):
            # The Arrow schema in the footer has the input's entries, which Arrow prefers to new
            # ones with the same name.
            schema = self._schema.with_metadata(entries)
            stored = {ARROW_SCHEMA: base64.b64encode(schema.serialize())}
            self._writer.add_key_value_metadata({**entries, **stored})
        self._closing.close()

    def abort(self) -> None:
        """Close the file."""
        self._held.clear()
        self._closing.close()

    def _flush(self) -> None:
        if self._held:
            self._rows += sum(held.num_rows for held in self._held)
            try:
                self._writer.write_table(pa.Table.from_batches(self._held, schema=self._schema))
            except REFUSALS as error:
                raise _refused("A column", error) from error
            self._held.clear()


def _codecs(schema: pa.Schema, kept: Sequence[str]) -> dict[str, str]:
    """Return the codec of every leaf column by its path in the output.

    Its path in the input may differ: older writers named the values of lists differently.
    """
    usual = Counter(kept).most_common(1)[0][0] if kept else DEFAULT_COMPRESSION
    leaves = pq.ParquetFile(pa.BufferReader(_without_rows(schema))).schema
    paths = [leaves.column(place).path for place in range(len(leaves))]
    return dict(zip_longest(paths, kept, fillvalue=usual))


def _without_rows(schema: pa.Schema) -> pa.Buffer:
    """Return a Parquet file with these columns and no row groups.

    Arrow cannot make an empty table with extension types within structs.

    Raises:
        OutputError: Parquet does not support a column's type.
    """
    file = pa.BufferOutputStream()
    try:
        pq.ParquetWriter(file, schema).close()
    except REFUSALS as error:
        if len(schema) == 1:
            raise _refused(f"The column {quoted(schema.names[0])}", error) from error
        for field in schema:
            _without_rows(pa.schema([field]))
        raise _refused("A column", error) from error
    return file.getvalue()


def _refused(what: str, error: Exception) -> OutputError:
    reason = str(error).splitlines()[0].rstrip(".")
    return OutputError(f"{what} cannot be written as Parquet: {reason}.", HINT_TYPE)
