"""Reads the columns of a labelled table that hold no text: its codes and its languages."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import InputError
from pipeline.quoting import cut, quoted
from pipeline.tables.arrow_batches import column_texts

__all__ = ["labels"]


def labels(batch: pa.RecordBatch, place: int, option: str) -> list[str]:
    """Return a column as text, without white space around it; "" for null.

    Args:
        batch: rows of the table.
        place: where the column stands.
        option: names the column, such as ``--code-column``.

    Raises:
        InputError: it holds neither text nor whole numbers.
    """
    column = batch.column(place)
    try:
        if pa.types.is_floating(column.type):  # numbers beside empty cells, as pandas has them
            column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
        said = [(text or "").strip() for text in column_texts(column)]
    except (UnicodeDecodeError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"The column {quoted(batch.schema.names[place])} holds "
            f"{cut(str(column.type))}, not text or whole numbers.",
            f"Name the column that is meant: {option} NAME.",
        ) from error
    return [_padded(text) for text in said] if pa.types.is_integer(column.type) else said


def _padded(number: str) -> str:
    """Return a number with the zero that a CPV code lost; no other system has seven digits."""
    return f"0{number}" if len(number) == 7 else number
