"""Cuts Arrow tables into batches of bounded size, with the text of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.quoting import quoted
from pipeline.tables.arrow_texts import TextColumn, text_values
from pipeline.tables.table import BATCH_CHARS
from pipeline.tables.texts import join_texts

__all__ = ["ArrowBatch", "bounded"]


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
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, columns: Sequence[TextColumn]
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
            yield ArrowBatch(_texts(piece, columns, row), piece)
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


def _texts(batch: pa.RecordBatch, columns: Sequence[TextColumn], row: int) -> list[str]:
    """Return the text of every row of a batch; all "" without text columns."""
    if not columns:
        return [""] * batch.num_rows
    found = [_column_texts(batch, column, row) for column in columns]
    return [join_texts(values) for values in zip(*found, strict=True)]


def _column_texts(batch: pa.RecordBatch, column: TextColumn, row: int) -> Sequence[str | None]:
    try:
        return text_values(batch, column)
    except (UnicodeDecodeError, pa.ArrowInvalid) as error:
        name, reason = quoted(column.name), str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"The column {name} has a value that is not UTF-8 text, "
            f"in one of the rows {row:,} to {row + batch.num_rows - 1:,}: {reason}.",
            "Fix the table, or choose another column: --text-column NAME.",
        ) from error
