"""Reads Parquet in batches, with all that is needed to write it unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.files.regular import open_regular
from pipeline.tables.arrow import ArrowBatch, bounded, check_fields, find_text_columns
from pipeline.tables.int96 import Unit, exact_unit, int96_columns
from pipeline.tables.streams import FileReader, refuse_other_contents
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS

__all__ = ["ARROW_SCHEMA", "ParquetReader"]

ARROW_SCHEMA = b"ARROW:schema"
"""The metadata entry in which Arrow stores its schema in a Parquet file, as base64."""

UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What reading a damaged file raises; the last, if the name of a column is not UTF-8."""


class ParquetReader(FileReader):
    """A Parquet file.

    INT96 timestamps are read as INT64, in a unit that keeps their values; see `int96`.

    Attributes:
        schema: the columns, with the file's key-value metadata.
        compression: the codec of each leaf column, in order; empty for a file without rows.
    """

    def __init__(self, path: Path, text_columns: Sequence[str]) -> None:
        super().__init__(path)
        with _opened(path) as file:
            _check_columns(file)
            self.compression = _compression(file.metadata)
            self._batch_rows = _batch_rows(file.metadata)
            self.schema: pa.Schema = _schema(file)
            old_timestamps = int96_columns(file.schema)
        self._unit: Unit = "ns"
        if old_timestamps:
            self._unit = exact_unit(path, partial(_opened, path), old_timestamps, self._batch_rows)
            with _opened(path, self._unit) as file:
                self.schema = _schema(file)
        self._text_columns = find_text_columns(self.schema, text_columns, path)

    def batches(self) -> Iterator[ArrowBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        with _opened(self._path, self._unit) as file:
            stream = file.iter_batches(batch_size=self._batch_rows, use_threads=False)
            yield from bounded(stream, self.schema, self._text_columns)
        check_fields(self._text_columns, self.schema.names, self._path)


@contextmanager
def _opened(path: Path, unit: Unit = "ns") -> Iterator[pq.ParquetFile]:
    """Open a file, and translate Arrow's errors while it is read.

    Python opens it, since Arrow accepts only UTF-8 names.
    """
    try:
        with (
            open_regular(path) as source,
            pq.ParquetFile(source, coerce_int96_timestamp_unit=unit) as file,
        ):
            yield file
    except UNREADABLE as error:
        refuse_other_contents(path, "Parquet")
        raise _damaged(path, error) from error


def _check_columns(file: pq.ParquetFile) -> None:
    """Read one row of every column before asking the footer about them.

    An encrypted or damaged column raises an error here; there, it would abort the process.
    """
    if file.metadata.num_row_groups:
        next(file.iter_batches(1, row_groups=[0], use_threads=False), None)


def _schema(file: pq.ParquetFile) -> pa.Schema:
    """Return the columns with the file's key-value metadata.

    Arrow itself returns the file's entries only if no Arrow schema is stored in them.
    """
    schema = file.schema_arrow
    entries = {**(schema.metadata or {}), **(file.metadata.metadata or {})}
    entries.pop(ARROW_SCHEMA, None)
    return schema.with_metadata(entries or None)


def _damaged(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0].rstrip(".")
    encrypted = "crypt" in reason
    return InputError(
        f"{path} cannot be read as Parquet: {reason}.",
        "The file is encrypted: write it again without encryption."
        if encrypted
        else "Check that the file is complete; if it is CSV, use --input-format csv.",
    )


def _compression(metadata: pq.FileMetaData) -> tuple[str, ...]:
    if not metadata.num_row_groups:
        return ()
    group = metadata.row_group(0)
    names = (group.column(place).compression for place in range(group.num_columns))
    return tuple("NONE" if name == "UNCOMPRESSED" else name for name in names)


def _batch_rows(metadata: pq.FileMetaData) -> int:
    """Return the rows per batch, fewer if rows are huge."""
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1.0)
    return int(min(BATCH_ROWS, max(1, BATCH_CHARS // max(1.0, widest))))
