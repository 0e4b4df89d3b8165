"""Reads and writes Parquet; types, metadata and compression of a Parquet input stay."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.tables.arrow import (
    ArrowBatch,
    appended,
    batch_texts,
    check_text_types,
    with_columns,
    with_metadata,
)
from pipeline.tables.streams import sha256_of
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS, Batch, NewColumn
from pipeline.tables.texts import find_columns

__all__ = ["ParquetReader", "ParquetWriter"]

ROW_GROUP_ROWS = 64 * 1024
ROW_GROUP_BYTES = 64 * 1024 * 1024

DEFAULT_COMPRESSION = "zstd"

ARROW_SCHEMA = b"ARROW:schema"
"""Under this name Arrow keeps its own schema in a Parquet file, as base64."""


class ParquetReader:
    """A Parquet file, read as often as asked.

    Attributes:
        compression: the codec of each leaf column, in the file's order; none where the file has
            no rows.
    """

    def __init__(self, path: Path, text_columns: Sequence[str]) -> None:
        self._path = path
        with _open(path) as file:
            self.schema: pa.Schema = _schema(file)
            self.compression = _compression(file.metadata)
            self._batch_rows = _batch_rows(file.metadata)
        self._text_at = find_columns(self.schema.names, text_columns, path)
        check_text_types(self.schema, self._text_at)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return sha256_of(self._path)

    def batches(self) -> Iterator[ArrowBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        with _open(self._path) as file:
            stream = file.iter_batches(batch_size=self._batch_rows, use_threads=False)
            while True:
                try:
                    batch = next(stream, None)
                    texts = batch_texts(batch, self._text_at) if batch else []
                except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                    raise _damaged(self._path, error) from error
                if batch is None:
                    return
                yield ArrowBatch(texts, batch)


class ParquetWriter:
    """A Parquet file being written, in row groups of a bounded size.

    Args:
        path: the file to write.
        schema: the original columns.
        new_fields: the columns that are added.
        compression: the codec of each original leaf column; the new ones get the codec that most
            of these have.
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
        codecs = _codecs(self._schema, compression)
        self._writer = pq.ParquetWriter(path, self._schema, compression=codecs, version="2.6")

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns and the new ones behind them."""
        self._held.append(appended(batch, columns, self._schema))
        rows = sum(held.num_rows for held in self._held)
        if rows >= ROW_GROUP_ROWS or sum(held.nbytes for held in self._held) >= ROW_GROUP_BYTES:
            self._flush()

    def close(self, metadata: dict[str, str]) -> None:
        """Write what is held and the footer, with the metadata."""
        self._flush()
        if metadata:
            # The Arrow schema in the footer holds the input's entries; where a name is in both,
            # Arrow would show the old value.
            schema = with_metadata(self._schema, metadata)
            stored = {ARROW_SCHEMA: base64.b64encode(schema.serialize())}
            self._writer.add_key_value_metadata({**schema.metadata, **stored})
        self._writer.close()

    def abort(self) -> None:
        """Let go of the file."""
        self._held.clear()
        self._writer.close()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held, schema=self._schema))
            self._held.clear()


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _schema(file: pq.ParquetFile) -> pa.Schema:
    """Return the columns with all the file's key-value metadata.

    Arrow passes on the file's own entries only where no Arrow schema is stored beside them.
    """
    schema = file.schema_arrow
    entries = {**(schema.metadata or {}), **(file.metadata.metadata or {})}
    entries.pop(ARROW_SCHEMA, None)
    return schema.with_metadata(entries or None)


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0].rstrip(".")
    return InputError(
        f"{path} cannot be read as Parquet: {reason}.",
        "Check that the file is whole; if it is not Parquet, say so: --input-format csv.",
    )


def _compression(metadata: pq.FileMetaData) -> tuple[str, ...]:
    if not metadata.num_row_groups:
        return ()
    group = metadata.row_group(0)
    names = (group.column(place).compression for place in range(group.num_columns))
    return tuple("NONE" if name == "UNCOMPRESSED" else name for name in names)


def _codecs(schema: pa.Schema, kept: Sequence[str]) -> dict[str, str]:
    """Return the codec of every leaf column by its path in the file to write.

    The same leaf's path in the input may be another: older writers named a list's values in
    other ways.
    """
    usual = max(kept, key=kept.count, default=DEFAULT_COMPRESSION)
    empty = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), empty)
    leaves = pq.ParquetFile(pa.BufferReader(empty.getvalue())).schema
    paths = [leaves.column(place).path for place in range(len(leaves))]
    return dict(zip_longest(paths, kept, fillvalue=usual))


def _batch_rows(metadata: pq.FileMetaData) -> int:
    """Return how many rows make a batch that fits in memory even if every cell is huge."""
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1.0)
    return int(min(BATCH_ROWS, max(1, BATCH_CHARS // max(1.0, widest))))
