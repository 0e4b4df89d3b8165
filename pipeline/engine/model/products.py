"""Matrix arithmetic that inference and training share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from pipeline.engine.model.arrays import Floats

__all__ = ["FEW", "SEVERAL", "Products", "blocks", "products", "rounds_alike", "softmax"]

FEW = 16
"""Vectors for which the rows are the left operand: with 8, products then take .65 times as long,
with 16 .75 times, with 64 1.1 times."""

SEVERAL = 64
"""Vectors up to which products with narrow blocks of rows pay."""

WIDE = 64
"""Rows of a narrow block."""

TOGETHER = 8
"""Vectors of an exact product."""

FEW_ROWS = 1_000
"""Fewer rows than this are always multiplied exactly, which takes about as long. OpenBLAS for
AVX-512 has another routine for up to 1,200 products (17 vectors and 66 rows), which rounds
differently."""

BLOCK = 2**17
"""Numbers of a block: half a mebibyte, which the processor keeps near while several steps use it.
Product and softmax of 512 texts and 9,454 codes are 19 MB."""


def products(hidden: Floats, rows: Floats) -> Floats:
    """Return texts x rows: the dot product of each text's vector with each row.

    BLAS uses different routines for one vector and for several, and they round differently: of
    6,000 texts processed alone, 23 got a different last digit of a confidence, and one a different
    tenth match. So a single vector is duplicated first. With the rows as the left operand, the
    products of `FEW` vectors round the same and take less time: BLAS copies its right operand.
    """
    if len(hidden) > FEW:
        return hidden @ rows.T
    several = np.repeat(hidden, 2, axis=0) if len(hidden) == 1 else hidden
    turned: Floats = rows @ several.T
    return np.ascontiguousarray(turned[:, : len(hidden)].T)


class Products:
    """The products of vectors with the same rows, faster from the second few vectors on.

    Before each product, BLAS copies the rows into an order of its own, which for a few vectors
    takes longer than the product. In narrow blocks with a row in each column, OpenBLAS multiplies
    them as they are. For 9,454 rows this takes .45 times as long with 2 vectors, .75 times with 16
    and 32, .9 times with 64, and as much memory again. So the blocks are made when a number of
    vectors occurs for the second time, as in a service, and not for the last rows of a table.

    The products of a vector are the same in a batch of any size. The OpenBLAS kernels for AVX2
    (Haswell, Zen) round by the place of a vector in the batch, and older ones by the size of the
    batch. Where `rounds_alike` finds this, all products are exact ones: with OpenBLAS's kernels for
    Haswell, they take up to 4 times as long, and whole answers about a quarter longer. Without
    them, 28 of 35,715 answers had another last digit of a confidence (0.0001) than in a batch of
    512, and none had another code.

    Args:
        rows: the rows.
    """

    def __init__(self, rows: Floats) -> None:
        self._rows = rows
        self._narrow: Floats | None = None
        self._is_same: dict[int, bool | None] = {}

    def __call__(self, hidden: Floats) -> Floats:
        """Return what `products` returns."""
        count = len(hidden)
        if len(self._rows) < FEW_ROWS or not rounds_alike():
            return self._exact(hidden)
        if not 0 < count <= SEVERAL:
            return products(hidden, self._rows)
        if self._is_same.get(count):
            return self._by_block(hidden)
        found = products(hidden, self._rows)
        if count not in self._is_same:
            self._is_same[count] = None
        elif self._is_same[count] is None:
            # No BLAS promises that it rounds both products alike.
            self._is_same[count] = np.array_equal(found, self._by_block(hidden))
        return found

    def _exact(self, hidden: Floats) -> Floats:
        """Multiply in blocks of the same shape, in which no vector depends on the others."""
        count, width = hidden.shape
        filled = np.pad(hidden, ((0, -count % TOGETHER), (0, 0)))
        narrow = self._blocks()
        found = np.empty((len(filled) // TOGETHER, TOGETHER, len(narrow), WIDE), np.float32)
        vectors = filled.reshape(-1, 1, TOGETHER, width)
        np.matmul(vectors, narrow, out=found.transpose(0, 2, 1, 3))
        whole = found.reshape(len(filled), len(narrow) * WIDE)
        return np.ascontiguousarray(whole[:count, : len(self._rows)])

    def _blocks(self) -> Floats:
        if self._narrow is None:
            self._narrow = _narrow(self._rows)
        return self._narrow

    def _by_block(self, hidden: Floats) -> Floats:
        narrow = self._blocks()
        count, width = len(hidden), len(self._rows)
        several = np.repeat(hidden, 2, axis=0) if count == 1 else hidden
        found = np.empty((len(several), width), np.float32)
        whole = width - width % WIDE
        parts = found[:, :whole].reshape(len(several), -1, WIDE)
        np.matmul(several, narrow[: whole // WIDE], out=parts.transpose(1, 0, 2))
        if whole < width:
            found[:, whole:] = (several @ narrow[-1])[:, : width - whole]
        return found[:count]


def _narrow(rows: Floats) -> Floats:
    """Return blocks x columns x `WIDE` rows, the last ones zeros."""
    filled = np.zeros((-(-len(rows) // WIDE) * WIDE, rows.shape[1]), np.float32)
    filled[: len(rows)] = rows
    return np.ascontiguousarray(filled.reshape(-1, WIDE, rows.shape[1]).transpose(0, 2, 1))


@cache
def rounds_alike() -> bool:
    """Return whether BLAS gives a vector the same products in batches of several sizes."""
    rows = np.sin(np.arange(1_007 * 128, dtype=np.float32)).reshape(-1, 128)
    hidden = rows[:40]
    whole = products(hidden, rows)
    parts = (slice(at, at + count) for at, count in ((3, 1), (5, 3), (6, 16), (7, 17), (9, 31)))
    return all(np.array_equal(products(hidden[part], rows), whole[part]) for part in parts)


def blocks(matrix: Floats) -> Iterator[slice]:
    """Yield the rows of a matrix in blocks of about `BLOCK` numbers."""
    step = max(1, BLOCK // max(1, matrix.shape[1]))
    return (slice(at, at + step) for at in range(0, len(matrix), step))


def softmax(scores: Floats) -> Floats:
    """Apply softmax to each row, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores
