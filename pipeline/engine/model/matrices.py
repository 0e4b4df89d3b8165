"""Matrix arithmetic for inference without SciPy: sparse rows, integer weights, largest values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.floating[Any]]
Ints: TypeAlias = npt.NDArray[np.integer[Any]]
Bools: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = npt.NDArray[np.str_]


LEVELS = 127
"""Rows are rounded to integers up to this, so that they can be stored in bytes."""

EXACT = 2**24
"""Up to this, 32-bit floating-point numbers add integers without rounding."""

TINY = 1e-30
"""A vector whose magnitudes add up to far less has products of 0."""

FEW = 48
"""Vectors for which the rows are the left operand: with 8, products then take .5 times as long,
with 17 .6 times, with 48 .85 times, with 96 1.8 times."""

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

    Attributes:
        levels: rows x columns, integers as float32.
        scales: the value of one level of each row.
    """

    levels: Floats
    scales: Floats

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.levels.shape[1])

    def rows(self) -> Floats:
        """Return the rows as they are, levels times scales."""
        rows: Floats = self.levels * self.scales[:, None]
        return rows

    def combined(self, weights: Floats, rows: Bools | slice = slice(None)) -> Floats:
        """Return the weighted sum of some rows."""
        total: Floats = (weights * self.scales[rows]) @ self.levels[rows]
        return total

    def __call__(self, vectors: Floats) -> Floats:
        """Return vectors x rows: the dot product of each vector with each row."""
        total = np.abs(vectors).sum(axis=1, dtype=np.float64)
        growth = (self._most / np.maximum(total, TINY)).astype(np.float32)
        products = self._of_integers(np.rint(vectors * growth[:, None]))
        shrinkage = 1 / growth[:, None]
        for block in _blocks(products):
            products[block] *= self.scales
            products[block] *= shrinkage[block]
        return products

    def _of_integers(self, vectors: Floats) -> Floats:
        if len(vectors) > FEW:
            return vectors @ self.levels.T
        return np.ascontiguousarray((self.levels @ vectors.T).T)

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


def _blocks(matrix: Floats) -> Iterator[slice]:
    """Yield the rows of a matrix in blocks of about `BLOCK` numbers."""
    step = max(1, BLOCK // max(1, matrix.shape[1]))
    return (slice(at, at + step) for at in range(0, len(matrix), step))


def softmax(scores: Floats, prior: Floats | float = 0.0) -> Floats:
    """Add the prior to each row and apply softmax to it, in place."""
    for block in _blocks(scores):
        portion = scores[block]
        portion += prior
        portion -= portion.max(axis=1, keepdims=True)
        np.exp(portion, out=portion)
        portion /= portion.sum(axis=1, keepdims=True)
    return scores


GROUPS = 4
"""Groups of columns per requested value. With more groups, fewer values are left to sort."""

FEWEST = 160
"""Minimum number of groups: with fewer, finding the group maxima takes longer."""


def highest(rows: Floats, count: int) -> tuple[Ints, Floats]:
    """Return (the indices of each row's highest values, those values); ties go to the first."""
    count = min(count, rows.shape[1])
    indices, values = np.empty((len(rows), count), np.intp), np.empty((len(rows), count))
    for block in _blocks(rows):
        indices[block], values[block] = _highest(rows[block], count)
    return indices, values


def _highest(rows: Floats, count: int) -> tuple[Ints, Floats]:
    # Searching a flat array takes a tenth of the time of searching a matrix.
    row, column = np.divmod(np.flatnonzero(rows >= _lower_bound(rows, count)), rows.shape[1])
    values = rows[row, column]
    order = np.lexsort((-values, row))  # equal ones keep their order
    best = order[np.searchsorted(row, np.arange(len(rows)))[:, None] + np.arange(count)]
    return column[best], values[best]


def find(ascending: Ints, values: Ints) -> tuple[Bools, Ints]:
    """Return (which numbers are among some, of which there is one; the index of each that is)."""
    indices = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    is_there: Bools = ascending[indices] == values
    return is_there, indices


def _lower_bound(rows: Floats, count: int) -> Floats:
    """Return a column with a lower bound per row that at least ``count`` of its values reach.

    The columns are divided into groups. If the maxima of ``count`` groups reach a value, at least
    ``count`` values of the row do. Finding the maxima takes a fifth of the time of partitioning the
    row.
    """
    groups = max(GROUPS * count, FEWEST)
    length = rows.shape[1] // groups
    if length < GROUPS:
        return np.partition(rows, -count, axis=1)[:, -count, None]
    peaks = rows[:, : groups * length].reshape(len(rows), length, groups).max(axis=1)
    return np.partition(peaks, -count, axis=1)[:, -count, None]


TOGETHER = 512
"""Rows of a dense matrix that are read at once, so that they stay in the processor's cache."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """A matrix of texts x features in compressed sparse row (CSR) form.

    Attributes:
        values: the non-zero values, row by row, float32.
        columns: the column of each value.
        ends: where each row begins in ``values``, and the end of the last; one more than the rows.
    """

    values: Floats
    columns: Ints
    ends: Ints

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ends) - 1

    @property
    def lengths(self) -> Ints:
        """The number of values of each row."""
        lengths: Ints = self.ends[1:] - self.ends[:-1]  # np.diff takes several times as long
        return lengths

    @property
    def rows(self) -> Ints:
        """The row of each value."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of each row, with other values in place of its own, float64."""
        sums: Floats = np.bincount(self.rows, values, len(self)).astype(np.float64)
        return sums

    def select(self, rows: Ints) -> SparseRows:
        """Return the given rows, in the given order."""
        lengths = self.lengths[rows]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.ends[rows] - ends[:-1], lengths) + np.arange(ends[-1])
        return SparseRows(self.values[at], self.columns[at], ends)

    def joined(self, other: SparseRows) -> SparseRows:
        """Return the rows, and more below them."""
        values = np.concatenate([self.values, other.values])
        columns = np.concatenate([self.columns, other.columns])
        return SparseRows(values, columns, np.append(self.ends, self.ends[-1] + other.ends[1:]))

    def scaled(self, factors: Floats) -> SparseRows:
        """Return the rows with each value multiplied by a factor."""
        values = (self.values * factors).astype(np.float32)
        return SparseRows(values, self.columns, self.ends)

    def where(self, kept: Bools) -> SparseRows:
        """Return the rows with only the values that a mask selects."""
        ends = np.concatenate([[0], np.cumsum(kept)])[self.ends]
        return SparseRows(self.values[kept], self.columns[kept], ends)


def summed(values: Floats, rows: Ints, columns: Ints, height: int) -> SparseRows:
    """Return a matrix from its entries in any order, with its columns ascending in each row.

    Values at the same place are added in the order given, so a row does not depend on the others.

    Args:
        values: float32.
        rows: the row of each value.
        columns: the column of each value, below 2**32.
        height: the number of rows.
    """
    bits = _bits(columns)
    key, order = _sorted(rows.astype(np.int64) << bits | columns)
    first = np.flatnonzero(np.diff(key, prepend=-1))
    key = key[first]
    sums = np.add.reduceat(values[order], first) if len(first) else values[:0]
    ends = np.searchsorted(key >> bits, np.arange(height + 1))
    return SparseRows(sums, key & (1 << bits) - 1, ends)


def weighted_sums(matrix: SparseRows, read: Callable[[Ints], Floats], width: int) -> Floats:
    """Return the product of a sparse matrix and a dense one, float32.

    Each row is summed by itself and without BLAS, whose rounding depends on its threads.

    Args:
        matrix: the sparse matrix.
        read: returns rows of the dense matrix.
        width: the number of its columns.
    """
    sums = np.zeros((len(matrix), width), np.float32)
    lengths = matrix.lengths
    order = np.argsort(lengths, kind="stable")
    for rows_together in _portions(lengths[order]):
        rows = order[rows_together]
        length = lengths[rows]
        inner = np.arange(length[-1])
        entries = matrix.ends[rows, None] + inner
        if length[0] == length[-1]:
            values = matrix.values[entries]
        else:  # shorter rows are filled up with zeros, which change no sum
            kept = inner < length[:, None]
            entries *= kept
            values = matrix.values[entries] * kept
        dense = read(matrix.columns[entries].reshape(-1)).reshape(*entries.shape, width)
        sums[rows] = np.einsum("ij,ijk->ik", values, dense)
    return sums


def _portions(lengths: Ints) -> Iterator[slice]:
    """Yield portions of rows that have `TOGETHER` entries at most, or a single row.

    Args:
        lengths: the lengths of the rows, ascending; a row without entries is in no portion.
    """
    at = int(np.searchsorted(lengths, 1))
    while at < len(lengths):
        most = lengths[at : at + max(1, TOGETHER // int(lengths[at]))]
        fits = int(np.count_nonzero(most * np.arange(1, len(most) + 1) <= TOGETHER))
        start, at = at, at + max(1, fits)
        yield slice(start, at)


def _sorted(numbers: Ints) -> tuple[Ints, Ints]:
    """Return (the numbers sorted, their places before); equal ones keep their order.

    NumPy sorts whole numbers far faster than it finds their order, so each carries its place.
    """
    bits = len(numbers).bit_length()
    if _bits(numbers) + bits > 63:
        order = np.argsort(numbers, kind="stable")
        return numbers[order], order
    key = np.sort(numbers << bits | np.arange(len(numbers)))
    return key >> bits, key & (1 << bits) - 1


def _bits(numbers: Ints) -> int:
    return int(numbers.max(initial=0)).bit_length()
