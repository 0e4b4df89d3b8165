"""Finds the largest values in each row of a matrix without sorting whole rows."""

from __future__ import annotations

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.products import blocks

__all__ = ["highest", "largest", "lower_bound"]

GROUPS = 4
"""Groups of columns per requested value. With more groups, fewer values are left to sort."""

FEWEST = 160
"""Minimum number of groups: with fewer, finding the group maxima takes longer."""


def highest(rows: Floats, count: int) -> tuple[Ints, Floats]:
    """Return (the indices of each row's highest values, those values); ties go to the first."""
    count = min(count, rows.shape[1])
    row, place, values = largest(rows, count)
    best = np.searchsorted(row, np.arange(len(rows)))[:, None] + np.arange(count)
    return place[best], values[best].astype(np.float64)


def largest(rows: Floats, count: int) -> tuple[Ints, Ints, Floats]:
    """Find the largest values of each row, row by row, highest first.

    Equal values keep their column order. Values tied with the last one are included, so a row may
    return more than ``count``.

    Returns:
        The row indices, the column indices and the values.
    """
    parts = [(rows[block], block.start) for block in blocks(rows)]
    found = [(*_largest(part, count), start) for part, start in parts]
    return (
        np.concatenate([np.empty(0, np.intp), *(row + start for row, _, _, start in found)]),
        np.concatenate([np.empty(0, np.intp), *(column for _, column, _, _ in found)]),
        np.concatenate([rows[:0, 0], *(values for _, _, values, _ in found)]),
    )


def _largest(rows: Floats, count: int) -> tuple[Ints, Ints, Floats]:
    # Searching a flat array takes a tenth of the time of searching a matrix.
    row, column = np.divmod(np.flatnonzero(rows >= lower_bound(rows, count)), rows.shape[1])
    values = rows[row, column]
    order = np.lexsort((column, -values, row))
    row, column, values = row[order], column[order], values[order]
    starts = np.searchsorted(row, np.arange(len(rows)))
    last = values[starts + count - 1]
    kept = values >= last[row]
    return row[kept], column[kept], values[kept]


def lower_bound(rows: Floats, count: int) -> Floats:
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
