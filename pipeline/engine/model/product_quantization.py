"""Keeps the features' weights in a few bits each, by product quantisation.

Each row is cut into subvectors of a few columns. Only the index of the nearest of 256 centroids is
stored for each subvector, and the length of each row. (Jégou, Douze and Schmid: Product
quantization for nearest neighbor search, 2011.) A text's vector is a sum over many rows, so the
errors of the single rows mostly cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.sparse_rows import TOGETHER, SparseRows, weighted_sums

__all__ = ["Codebook", "quantised", "rotation"]

CENTRES = 256
"""Centroids per subvector: as many as one byte can index."""

ROUNDS = 10
SAMPLE = 30_000
"""How many rows the centroids are fitted to."""

AT_ONCE = 256
"""Rows that are compared with the centroids at once, so that the products stay in the cache."""


@dataclass(frozen=True, slots=True)
class Codebook:
    """Product-quantised rows of weights.

    Attributes:
        places: rows x subvectors, uint8: the index of each subvector's centroid.
        lengths: the length of each row, float16.
        centres: subvectors x centroids x columns of a subvector, float32.
    """

    places: Ints
    lengths: Floats
    centres: Floats

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        parts, _, columns = self.centres.shape
        return int(parts * columns)

    def rows(self, which: Ints) -> Floats:
        """Return the given rows as float32."""
        rows: Floats = self._unit(which) * self.lengths[which].astype(np.float32)[:, None]
        return rows

    def sums(self, texts: SparseRows) -> Floats:
        """Return the product of a sparse matrix and the rows: texts x columns, float32."""
        weights = texts.scaled(self.lengths[texts.columns].astype(np.float32))
        most = max(TOGETHER, int(texts.lengths.max(initial=0)))
        return weighted_sums(weights, self._decoder(most), self.width)

    def _unit(self, which: Ints) -> Floats:
        """Return the given rows before they are scaled to their lengths."""
        return self._decoder(len(which))(which)

    def _decoder(self, most: int) -> Callable[[Ints], Floats]:
        """Return a function that decodes up to so many rows; each call overwrites the last one's.

        The rows are not scaled to their lengths.
        """
        parts, centres, columns = self.centres.shape
        offsets = (np.arange(parts) * centres).astype(np.min_scalar_type(parts * centres))
        # As single values, the columns of a centroid are copied at once.
        flat = np.ascontiguousarray(self.centres).reshape(-1).view(f"V{4 * columns}")
        places = np.empty((most, parts), np.intp)
        found = np.empty((most, parts), flat.dtype)
        kept = np.asarray(self.places)

        def decode(which: Ints) -> Floats:
            here = places[: len(which)], found[: len(which)]
            here[0][...] = kept.take(which, axis=0) + offsets
            flat.take(here[0], out=here[1], mode="clip")
            return here[1].view(np.float32)

        return decode


def rotation(width: int) -> Floats:
    """Return a fixed random rotation, which spreads the variance over all columns."""
    random = np.random.default_rng(0)
    turned: Floats = np.linalg.qr(random.standard_normal((width, width)))[0].astype(np.float32)
    return turned


def quantised(rows: Floats, columns: int, importance: Floats) -> Codebook:
    """Quantise rows of weights.

    Args:
        rows: rows x columns, a multiple of ``columns``.
        columns: columns per subvector; fewer take more bytes and lose less.
        importance: the importance of each row when fitting the centroids.
    """
    random = np.random.default_rng(0)
    lengths = (np.linalg.norm(rows, axis=1) + 1e-6).astype(np.float16)
    unit = rows / lengths.astype(np.float32)[:, None]
    chance = importance * lengths + 1e-12
    count = min(SAMPLE, len(rows))
    sample = np.sort(random.choice(len(rows), count, replace=False, p=chance / chance.sum()))
    starts = range(0, rows.shape[1], columns)
    centres = [_centres(unit[sample, at : at + columns], random) for at in starts]
    places = [
        _nearest(unit[:, at : at + columns], found)
        for at, found in zip(starts, centres, strict=True)
    ]
    return Codebook(np.stack(places, axis=1), lengths, np.stack(centres))


def _centres(parts: Floats, random: np.random.Generator) -> Floats:
    """Return k-means centroids; with few rows, some are duplicates."""
    centres = parts[random.choice(len(parts), CENTRES, replace=len(parts) < CENTRES)]
    for _ in range(ROUNDS):
        nearest = _nearest(parts, centres)
        times = np.bincount(nearest, minlength=CENTRES)
        sums = [np.bincount(nearest, column, CENTRES) for column in parts.T]
        found = (np.stack(sums, axis=1) / np.maximum(times, 1)[:, None]).astype(np.float32)
        centres = np.where(times[:, None] > 0, found, centres)
    return np.ascontiguousarray(centres)


def _nearest(parts: Floats, centres: Floats) -> Ints:
    half = np.einsum("ij,ij->i", centres, centres) / 2
    near = [
        (parts[at : at + AT_ONCE] @ centres.T - half).argmax(axis=1)
        for at in range(0, len(parts), AT_ONCE)
    ]
    return np.concatenate(near).astype(np.uint8)
