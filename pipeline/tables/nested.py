"""Takes nested Arrow columns apart into the plain ones that hold their values."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

__all__ = ["leaves"]


def leaves(column: pa.Array) -> Iterator[pa.Array]:
    """Yield the arrays that hold the values of a column, in the order of its type.

    What stands under a null is left out; a union is not taken apart.
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
