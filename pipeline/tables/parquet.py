"""Reads Parquet in batches, with all that is needed to write it unchanged."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError, OutputError
from pipeline.files.regular import open_regular
from pipeline.tables.arrow import (
    ArrowBatch,
    appended,
    find_text_columns,
    with_columns,
    with_metadata,
    with_texts,
)
from pipeline.tables.cells import leaves
from pipeline.tables.csv_table import CsvBatch
from pipeline.tables.formats import refuse_other_contents
from pipeline.tables.streams import FileReader, FileWriter
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS, Batch, NewColumn, Reader
from pipeline.wording import AS_CSV, both, listed


def check(batch: Batch, _rows: int) -> None:
    """Check that the columns of a batch can be those of a Parquet file.

    Raises:
        InputError: a value cannot be in an Arrow column.
    """
    if not isinstance(batch, CsvBatch):  # all are text
        batch.to_arrow()


DEFAULT_CODEC = "ZSTD"

ARROW_SCHEMA = b"ARROW:schema"
"""The metadata entry in which Arrow stores its schema in a Parquet file, as base64."""

UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What reading a damaged file raises; the last, if the name of a column is not UTF-8."""


class ParquetReader(FileReader):
    """A Parquet file.

    INT96 timestamps, which old tools wrote, are read as INT64 in microseconds.

    Attributes:
        schema: the columns, with the file's key-value metadata.
        codec: what compresses most of its columns.
    """

    def __init__(self, path: Path, text_columns: Sequence[str], *_: object) -> None:
        super().__init__(path)
        with _open_parquet(path) as file:
            _check_columns(file)
            self.codec = _codec(file.metadata)
            self._batch_rows = _batch_rows(file.metadata)
            self.schema = _schema(file)
            leaf_columns = map(file.schema.column, range(len(file.schema)))
            old = [column.path for column in leaf_columns if column.physical_type == "INT96"]
        if old:
            _check_int96(path, old, self._batch_rows)
        self._text_columns = find_text_columns(self.schema, text_columns, path)

    def batches(self, limit: int | None = None) -> Iterator[ArrowBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        with _open_parquet(self.path) as file:
            stream = file.iter_batches(batch_size=self._batch_rows, use_threads=False)
            yield from with_texts(_first(stream, limit), self._text_columns)


def _first(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.slice(0, limit)
        if limit is not None and (limit := limit - batch.num_rows) <= 0:
            return


@contextmanager
def _open_parquet(path: Path, unit: str = "us") -> Iterator[pq.ParquetFile]:
    """Open a file, and translate Arrow's errors while it is read; INT96 is read in a unit.

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
        raise _damage_error(path, error) from error


def _check_int96(path: Path, columns: Sequence[str], batch_rows: int) -> None:
    """Refuse INT96 timestamps that microseconds do not hold: Arrow would change them silently.

    Seconds hold every year. Nanoseconds in 64 bits are right modulo 2**64, whatever the year is.
    """
    fine: dict[str, None] = {}
    with _open_parquet(path, "s") as in_seconds, _open_parquet(path, "ns") as in_nanos:
        streams = [
            file.iter_batches(batch_rows, columns=columns, use_threads=False)
            for file in (in_seconds, in_nanos)
        ]
        for pair in zip(*streams, strict=True):
            for name, *both in zip(pair[0].schema.names, *pair, strict=True):
                for seconds, nanos in zip(*map(leaves, both), strict=True):
                    # Other leaves of a struct may have any type.
                    if seconds.type != nanos.type and _is_changed(_in_64(seconds), _in_64(nanos)):
                        fine[name] = None
    if fine:
        raise InputError(
            f"{path}: the INT96 timestamps of {listed([*fine])} do not fit in microseconds: "
            "some are finer, or over 290,000 years away.",
            "Write the file again with timestamps in INT64, or drop the column.",
        )


def _is_changed(seconds: Any, nanos: Any) -> bool:
    is_far = abs(seconds) >= 2**63 // 10**6
    return bool(((nanos - seconds * 10**9) % 1000).any() or is_far.any())


def _in_64(column: pa.Array) -> Any:
    """Return the numbers of a column of timestamps that are not null, in an array of NumPy."""
    return column.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)


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


def _damage_error(path: Path, error: Exception) -> InputError:
    reason = str(error).splitlines()[0].rstrip(".")
    encrypted = "crypt" in reason
    return InputError(
        f"{path} cannot be read as Parquet: {reason}.",
        "The file is encrypted: write it again without encryption."
        if encrypted
        else (
            "Check that the file is complete; if it is CSV, "
            f"{both('use --input-format csv', 'rename it to end in .csv')}."
        ),
    )


def _codec(metadata: pq.FileMetaData) -> str:
    """Return what compresses most of the columns; the default for a file without values."""
    groups = range(min(1, metadata.num_row_groups))
    columns = range(metadata.num_columns)
    names: Counter[str] = Counter(
        metadata.row_group(g).column(c).compression for g in groups for c in columns
    )
    most = [*names.most_common(1), (DEFAULT_CODEC, 0)]
    return most[0][0].replace("UNCOMPRESSED", "NONE")


def _batch_rows(metadata: pq.FileMetaData) -> int:
    """Return the rows per batch, fewer if rows are huge."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(1, group.num_rows) for group in groups), default=1.0)
    return int(min(BATCH_ROWS, max(1, BATCH_CHARS // max(1.0, widest))))


ROW_GROUP_ROWS = 64 * 1024
ROW_GROUP_BYTES = 64 * 1024 * 1024


class ParquetWriter(FileWriter):
    """Writes a Parquet file in row groups of bounded size, compressed like the input if it is one.

    Raises:
        OutputError: Parquet does not support a column's type.
    """

    def __init__(
        self, path: Path, _name: str, reader: Reader, new_fields: Sequence[pa.Field]
    ) -> None:
        codec = reader.codec if isinstance(reader, ParquetReader) else DEFAULT_CODEC
        self._schema = with_columns(reader.schema, new_fields)
        self._held: list[pa.RecordBatch] = []
        with ExitStack() as stack:
            # Python opens the file, since Arrow accepts only UTF-8 names.
            file = stack.enter_context(path.open("wb"))
            with _as_output_errors():
                self._writer = pq.ParquetWriter(
                    file, self._schema, compression=codec, version="2.6"
                )
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
        entries = with_metadata(self._schema.metadata, metadata)
        if entries != (self._schema.metadata or {}):
            # The Arrow schema in the footer has the input's entries, which Arrow prefers to new
            # ones with the same name.
            schema = self._schema.with_metadata(entries)
            stored = {ARROW_SCHEMA: base64.b64encode(schema.serialize())}
            self._writer.add_key_value_metadata({**entries, **stored})
        self._closing.close()

    def _flush(self) -> None:
        if self._held:
            with _as_output_errors():
                self._writer.write_table(pa.Table.from_batches(self._held, schema=self._schema))
            self._held.clear()


@contextmanager
def _as_output_errors() -> Iterator[None]:
    """Translate what Arrow says of types and values that Parquet does not have."""
    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise OutputError(
            f"The table cannot be written as Parquet: {reason}.",
            f"Drop the column, or write CSV: {AS_CSV}.",
        ) from error


open_reader, open_writer = ParquetReader, ParquetWriter
