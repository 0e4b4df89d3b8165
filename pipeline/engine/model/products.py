"""Matrix arithmetic that inference and training share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats

__all__ = ["FEW", "SEVERAL", "IntegerRows", "blocks", "rounded", "softmax"]

LEVELS = 127
"""Rows are rounded to integers up to this, so that they can be stored in bytes."""

EXACT = 2**24
"""Up to this, 32-bit floating-point numbers add integers without rounding."""

TINY = 1e-30
"""A vector whose magnitudes add up to far less has products of 0."""

FEW = 16
"""Vectors for which the rows are the left operand: with 8, products then take .65 times as long,
with 16 .75 times, with 64 1.1 times."""

SEVERAL = 64
"""Vectors up to which products with narrow blocks of rows pay."""

WIDE = 64
"""Rows of a narrow block."""

BLOCK = 2**17
"""Numbers of a block: half a mebibyte, which the processor keeps near while several steps use it.
Product and softmax of 512 texts and 9,454 codes are 19 MB."""


@dataclass(frozen=True, eq=False)
class IntegerRows:
    """Rows of integers and a scale, whose products with vectors are exact.

    A text must have the same answer alone and in any batch. But BLAS sums in another order for
    another number of vectors, on some processors for another place in the batch, and each order
    rounds differently. So vectors are scaled to integers that are so small that no sum of products
    with the rows can exceed `EXACT`: then nothing is rounded, whatever the order. For rows up to
    `LEVELS`, the magnitudes of a vector add up to about 132,000.

    Before each product, BLAS copies the rows into an order of its own, which for a few vectors
    takes longer than the product. In narrow blocks with a row in each column, OpenBLAS multiplies
    them as they are. For 9,454 rows this takes .45 times as long with 2 vectors, .75 times with 16
    and 32, .9 times with 64, and as much memory again. So the blocks are made when a number of
    vectors occurs for the second time, as in a service, and not for the last rows of a table.

    Attributes:
        levels: rows x columns, integers as float32.
        scales: the value of one level of each row.
    """

    levels: Floats
    scales: Floats
    _seen: set[int] = field(default_factory=set, init=False, repr=False)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.levels.shape[1])

    def rows(self) -> Floats:
        """Return the rows as they are, levels times scales."""
        rows: Floats = self.levels * self.scales[:, None]
        return rows

    def combined(self, weights: Floats, some: Bools | slice = slice(None)) -> Floats:
        """Return the weighted sum of some rows."""
        total: Floats = (weights * self.scales[some]) @ self.levels[some]
        return total

    def __call__(self, vectors: Floats) -> Floats:
        """Return vectors x rows: the dot product of each vector with each row."""
        total = np.abs(vectors).sum(axis=1, dtype=np.float64)
        growth = (self._most / np.maximum(total, TINY)).astype(np.float32)
        found = self._of_integers(np.rint(vectors * growth[:, None]))
        shrinkage = 1 / growth[:, None]
        for block in blocks(found):
            found[block] *= self.scales
            found[block] *= shrinkage[block]
        return found

    def _of_integers(self, vectors: Floats) -> Floats:
        count = len(vectors)
        if not 0 < count <= SEVERAL:
            return vectors @ self.levels.T
        if count in self._seen:
            return self._by_block(vectors)
        self._seen.add(count)
        if count > FEW:
            return vectors @ self.levels.T
        return np.ascontiguousarray((self.levels @ vectors.T).T)

    def _by_block(self, vectors: Floats) -> Floats:
        count, width = len(vectors), len(self.levels)
        found = np.empty((count, width), np.float32)
        whole = width - width % WIDE
        parts = found[:, :whole].reshape(count, -1, WIDE)
        np.matmul(vectors, self._narrow[: whole // WIDE], out=parts.transpose(1, 0, 2))
        if whole < width:
            found[:, whole:] = (vectors @ self._narrow[-1])[:, : width - whole]
        return found

    @cached_property
    def _narrow(self) -> Floats:
        """Blocks x columns x `WIDE` rows, the last ones zeros."""
        filled = np.zeros((-(-len(self.levels) // WIDE) * WIDE, self.width), np.float32)
        filled[: len(self.levels)] = self.levels
        return np.ascontiguousarray(filled.reshape(-1, WIDE, self.width).transpose(0, 2, 1))

    @cached_property
    def _most(self) -> int:
        """What the magnitudes of a vector may add up to.

        Rounding to the nearest integer adds at most one half in each column.
        """
        return EXACT // max(1, int(np.abs(self.levels).max(initial=0))) - self.width


def rounded(rows: Floats) -> IntegerRows:
    """Round rows to integers up to `LEVELS`."""
    largest = np.abs(rows).max(axis=1, initial=0)
    scales = np.where(largest > 0, largest / LEVELS, 1).astype(np.float32)
    return IntegerRows(np.rint(rows / scales[:, None]).astype(np.float32), scales)


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
