"""Sparse matrices for inference, as NumPy arrays: importing SciPy would slow every start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats, Ints

__all__ = ["TOGETHER", "SparseRows", "distinct", "summed", "weighted_sums"]

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

    def select(self, rows: Ints) -> SparseRows:
        """Return the given rows, in the given order."""
        lengths = self.lengths[rows]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(self.ends[rows] - ends[:-1], lengths) + np.arange(ends[-1])
        return SparseRows(self.values[at], self.columns[at], ends)

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
    for some in _portions(lengths[order]):
        rows = order[some]
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


def distinct(numbers: Ints) -> tuple[Ints, Ints]:
    """Return (the distinct numbers, ascending; the index in them of each number)."""
    key, order = _sorted(numbers.astype(np.int64))
    is_first = np.diff(key, prepend=-1) != 0
    places = np.empty(len(numbers), np.intp)
    places[order] = np.cumsum(is_first) - 1
    return key[is_first].astype(numbers.dtype), places


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
