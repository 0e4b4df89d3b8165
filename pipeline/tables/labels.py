"""Reads the code and language columns of a labelled table."""

from __future__ import annotations

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.quoting import cut, quoted
from pipeline.tables.arrow_texts import column_texts

__all__ = ["labels"]


def labels(batch: pa.RecordBatch, place: int, option: str) -> list[str]:
    """Return a column's values as stripped text; "" for null.

    Raises:
        InputError: the column has neither text nor whole numbers.
    """
    column = batch.column(place)
    try:
        if pa.types.is_floating(column.type):  # as pandas has whole numbers with gaps
            import pyarrow.compute as pc  # few tables need it, and it takes a tenth of a start

            column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
        texts = [(text or "").strip() for text in column_texts(column)]
    except (UnicodeDecodeError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"The column {quoted(batch.schema.names[place])} has the type "
            f"{cut(str(column.type))}, not text or whole numbers.",
            f"Choose another column: {option} NAME.",
        ) from error
    return [_padded(text) for text in texts] if pa.types.is_integer(column.type) else texts


def _padded(number: str) -> str:
    """Restore the leading zero of a CPV code; no other system's code has seven digits."""
    return f"0{number}" if len(number) == 7 else number
