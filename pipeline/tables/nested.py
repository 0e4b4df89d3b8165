"""Turns Arrow columns into plain arrays of their values."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

__all__ = ["leaves", "without_encoding"]


def without_encoding(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary or an extension type around its values."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def leaves(column: pa.Array) -> Iterator[pa.Array]:
    """Yield the plain arrays of a column's values, in the order of its type.

    Values under a null are left out. Unions are not flattened.
    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from leaves(column.storage)
    elif pa.types.is_dictionary(kind):
        yield from leaves(column.dictionary_decode())
    elif pa.types.is_struct(kind):
        for child in column.flatten():
            yield from leaves(child)
    elif pa.types.is_map(kind):
        begin, end = column.offsets[0].as_py(), column.offsets[-1].as_py()
        yield from leaves(column.keys[begin:end])
        yield from leaves(column.items[begin:end])
    elif pa.types.is_nested(kind) and hasattr(column, "flatten"):
        yield from leaves(column.flatten())
    else:
        yield column
