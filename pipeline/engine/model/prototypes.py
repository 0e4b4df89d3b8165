"""Stores a few prototype vectors per code, and scores codes by the nearest prototypes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.largest import largest
from pipeline.engine.model.products import blocks, products

__all__ = ["Memory", "unit"]

NEAREST = 50
SHARPNESS = 15.0
"""A prototype adds exp(SHARPNESS * (cosine - 1)), times its texts, to the score of its code."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Prototypes of unit length, the index of each one's code and the weight of its texts."""

    vectors: Floats
    labels: Ints
    texts: Floats

    def shares(self, hidden: Floats, codes: int) -> Iterator[tuple[slice, Floats]]:
        """Yield texts x codes: the shares of the codes among each text's nearest prototypes.

        They come in blocks of texts: (the rows of the block, their shares).
        """
        near = products(unit(hidden), self.vectors)
        for rows in blocks(near):
            yield rows, self._shares(near[rows], codes)

    def _shares(self, near: Floats, codes: int) -> Floats:
        row, place, cosine = largest(near, min(NEAREST, near.shape[1]))
        pull = np.exp(SHARPNESS * (cosine - 1)) * self.texts[place]
        shape = (len(near), codes)
        found = np.bincount(row * codes + self.labels[place], pull, codes * len(near))
        shares: Floats = found.reshape(shape).astype(np.float32)
        shares /= shares.sum(axis=1, keepdims=True) + 1e-12
        return shares


def unit(rows: Floats) -> Floats:
    """Scale rows to unit length; a row of zeros stays zero."""
    unit: Floats = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9)
    return unit
