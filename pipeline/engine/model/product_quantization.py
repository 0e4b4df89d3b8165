"""Keeps the features' weights in a few bits each, by product quantisation.

A row is cut into parts of a few columns; of each part only the number of the most similar of 256
typical parts is kept, and of the row its length. (Jégou, Douze and Schmid: Product quantization
for nearest neighbor search, 2011.) A text's vector is a sum over many rows, so that the errors of
the single rows mostly cancel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints

__all__ = ["Codebook", "quantised", "rotation"]

CENTRES = 256
"""Typical parts: what a byte can number."""

ROUNDS = 10
SAMPLE = 30_000
"""Rows that the typical parts are learned from."""

AT_ONCE = 65_536


@dataclass(frozen=True, slots=True)
class Codebook:
    """Rows of weights.

    Attributes:
        places: rows x parts, uint8: the typical part that replaces each part.
        lengths: of the rows, float16.
        centres: parts x typical parts x columns of a part, float32.
    """

    places: Ints
    lengths: Floats
    centres: Floats

    @property
    def width(self) -> int:
        """How many columns a row has."""
        parts, _, columns = self.centres.shape
        return int(parts * columns)

    def rows(self, which: Ints) -> Floats:
        """Return some rows as float32."""
        parts, _, columns = self.centres.shape
        places = self.places[which]
        rows = np.empty((len(which), parts, columns), np.float32)
        for part in range(parts):
            rows[:, part] = self.centres[part].take(places[:, part], axis=0)
        whole: Floats = rows.reshape(len(which), self.width)
        whole *= self.lengths[which].astype(np.float32)[:, None]
        return whole


def rotation(width: int) -> Floats:
    """Return a rotation, the same each time, that spreads what matters over all columns."""
    random = np.random.default_rng(0)
    turned: Floats = np.linalg.qr(random.standard_normal((width, width)))[0].astype(np.float32)
    return turned


def quantised(rows: Floats, columns: int, importance: Floats) -> Codebook:
    """Quantise rows.

    Args:
        rows: rows x columns, a multiple of ``columns``.
        columns: of a part: fewer take more bytes and lose less.
        importance: of each row, for learning the typical parts.
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
    """Return typical parts (k-means); with few rows some are repeated."""
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
