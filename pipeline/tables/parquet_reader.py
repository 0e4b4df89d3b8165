"""Reads Parquet in batches, with all that a writer needs to write it as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.files.regular import open_regular
from pipeline.tables.arrow_batches import ArrowBatch, bounded, check_text_types
from pipeline.tables.contents import refuse_other_contents
from pipeline.tables.int96 import Unit, exact_unit, int96_columns
from pipeline.tables.streams import fingerprint_of
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS
from pipeline.tables.texts import find_columns

__all__ = ["ARROW_SCHEMA", "ParquetReader"]

ARROW_SCHEMA = b"ARROW:schema"
"""Under this name Arrow keeps its own schema in a Parquet file, as base64."""


class ParquetReader:
    """A Parquet file, read as often as asked.

    Timestamps in INT96 come as INT64, in a unit that keeps them all; see `int96`.

    Attributes:
        opened_fingerprint: see `Reader.opened_fingerprint`.
        schema: the columns, with all the file's key-value metadata.
        compression: the codec of each leaf column, in the file's order; none where the file has
            no rows.
    """

    def __init__(self, path: Path, text_columns: Sequence[str]) -> None:
        self._path = path
        self.opened_fingerprint = fingerprint_of(path)
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
        self._text_at = find_columns(self.schema.names, text_columns, path)
        check_text_types(self.schema, self._text_at)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return fingerprint_of(self._path)

    def batches(self) -> Iterator[ArrowBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        with _opened(self._path, self._unit) as file:
            stream = file.iter_batches(batch_size=self._batch_rows, use_threads=False)
            yield from bounded(stream, self.schema, self._text_at)


@contextmanager
def _opened(path: Path, unit: Unit = "ns") -> Iterator[pq.ParquetFile]:
    """Open a file and translate what Arrow says while it is read.

    Python opens it: Arrow takes no name that is not UTF-8.
    """
    try:
        with (
            open_regular(path) as source,
            pq.ParquetFile(source, coerce_int96_timestamp_unit=unit) as file,
        ):
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # a name that is no text
        refuse_other_contents(path, "Parquet")
        raise _damaged(path, error) from error


def _check_columns(file: pq.ParquetFile) -> None:
    """Read a row of every column before the footer is asked about them.

    A column that is encrypted or damaged is an error here; there it would abort the process.
    """
    if file.metadata.num_row_groups:
        next(file.iter_batches(1, row_groups=[0], use_threads=False), None)


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
    encrypted = "crypt" in reason
    return InputError(
        f"{path} cannot be read as Parquet: {reason}.",
        "The file is encrypted: write it again without that."
        if encrypted
        else "Check that the file is whole; if it is not Parquet, say so: --input-format csv.",
    )


def _compression(metadata: pq.FileMetaData) -> tuple[str, ...]:
    if not metadata.num_row_groups:
        return ()
    group = metadata.row_group(0)
    names = (group.column(place).compression for place in range(group.num_columns))
    return tuple("NONE" if name == "UNCOMPRESSED" else name for name in names)


def _batch_rows(metadata: pq.FileMetaData) -> int:
    """Return how many rows make a batch that fits in memory even if every cell is huge."""
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1.0)
    return int(min(BATCH_ROWS, max(1, BATCH_CHARS // max(1.0, widest))))
