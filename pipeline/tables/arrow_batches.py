"""Cuts Arrow tables into batches of bounded size, with the text of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.quoting import cut, quoted
from pipeline.tables.cells import is_binary
from pipeline.tables.table import BATCH_CHARS
from pipeline.tables.texts import join_texts

__all__ = ["ArrowBatch", "bounded", "check_text_types", "column_texts"]


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


def bounded(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, text_at: Sequence[int]
) -> Iterator[ArrowBatch]:
    """Yield batches of bounded size, with the text of each row.

    Raises:
        InputError: a value in a text column is not text.
    """
    dictionaries = [
        place for place, kind in enumerate(schema.types) if pa.types.is_dictionary(kind)
    ]
    row = 1
    for batch in batches:
        for piece in _cut(batch, dictionaries):
            yield ArrowBatch(_texts(piece, text_at, row), piece)
            row += piece.num_rows


def _cut(batch: pa.RecordBatch, dictionaries: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Halve a batch until each part has at most `BATCH_CHARS`.

    A dictionary column that repeats one huge value can turn kilobytes into gigabytes.
    """
    if batch.num_rows < 2 or _size(batch, dictionaries) <= BATCH_CHARS:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _cut(batch.slice(0, half), dictionaries)
    yield from _cut(batch.slice(half), dictionaries)


def _size(batch: pa.RecordBatch, dictionaries: Sequence[int]) -> int:
    """Return the size of a batch with its dictionaries decoded, bytes."""
    columns = [batch.column(place) for place in dictionaries]
    return int(batch.nbytes + sum(_decoded_size(column) - column.nbytes for column in columns))


def _decoded_size(column: pa.DictionaryArray) -> int:
    indices, values = column.indices, column.dictionary
    if not _has_length(values.type):
        return int(indices.nbytes)
    import pyarrow.compute as pc  # few tables need it, and it takes a tenth of a start

    return int(indices.nbytes + (pc.sum(pc.binary_length(values).take(indices)).as_py() or 0))


def _has_length(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _texts(batch: pa.RecordBatch, text_at: Sequence[int], row: int) -> list[str]:
    """Return the text of every row of a batch; all "" without text columns."""
    if not text_at:
        return [""] * batch.num_rows
    columns = [_column_texts(batch, place, row) for place in text_at]
    return [join_texts(values) for values in zip(*columns, strict=True)]


def _column_texts(batch: pa.RecordBatch, place: int, row: int) -> list[str | None]:
    try:
        return column_texts(batch.column(place))
    except (UnicodeDecodeError, pa.ArrowInvalid) as error:
        name, reason = quoted(batch.schema.names[place]), str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"The column {name} has a value that is not UTF-8 text, "
            f"in one of the rows {row:,} to {row + batch.num_rows - 1:,}: {reason}.",
            "Fix the table, or choose another column: --text-column NAME.",
        ) from error


def column_texts(column: pa.Array) -> list[str | None]:
    """Return a column's values as text, None for null; bytes are decoded as UTF-8.

    Raises:
        UnicodeDecodeError: a text is not UTF-8.
        pyarrow.ArrowInvalid: bytes are not UTF-8, or a time zone is unknown.
    """
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    texts: list[str | None] = column.cast(pa.string()).to_pylist()
    return texts


def check_text_types(schema: pa.Schema, text_at: Sequence[int]) -> None:
    """Refuse text columns whose values cannot be read as text.

    Bytes may be text: older Parquet writers do not mark text columns.

    Raises:
        InputError: a text column is nested, or of another type that has no text form.
    """
    for place in text_at:
        field = schema.field(place)
        if not _has_text(field.type):
            raise InputError(
                f"The column {quoted(field.name)} has the type {cut(str(field.type))}, not text.",
                "Choose a column with text: --text-column NAME.",
            )


def _has_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_text(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _has_text(kind.storage_type)
    if is_binary(kind):
        return not pa.types.is_fixed_size_binary(kind)
    try:
        column_texts(pa.nulls(1, kind))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True
