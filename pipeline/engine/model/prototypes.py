"""Stores a few prototype vectors per code, and scores codes by the nearest prototypes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.largest import lower_bound
from pipeline.engine.model.products import IntegerRows, blocks

__all__ = ["Memory", "unit"]

NEAREST = 50
"""Prototypes that score the codes of a text; sometimes a few more, which is cheaper to find."""

SHARPNESS = 15.0
"""A prototype adds exp(SHARPNESS * (cosine - 1)), times its texts, to the score of its code."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Prototypes of unit length, the index of each one's code and the weight of its texts."""

    vectors: IntegerRows
    labels: Ints
    texts: Floats

    def mix(self, shares: Floats, hidden: Floats, weight: float) -> None:
        """Mix the shares of the codes among each text's nearest prototypes into others, in place.

        Args:
            shares: texts x codes.
            hidden: texts x dimensions.
            weight: the weight of the prototypes' shares, from 0 to 1.
        """
        near = self.vectors(unit(hidden))
        for block in blocks(near):
            self._mix(shares[block], near[block], weight)

    def _mix(self, shares: Floats, near: Floats, weight: float) -> None:
        enough = lower_bound(near, min(NEAREST, near.shape[1]))
        row, place = np.divmod(np.flatnonzero(near >= enough), near.shape[1])
        pull = np.exp(SHARPNESS * (near[row, place] - 1)) * self.texts[place]
        pull *= weight / (np.bincount(row, pull, len(near))[row] + 1e-12)
        shares *= 1 - weight
        np.add.at(shares, (row, self.labels[place]), pull)


def unit(rows: Floats) -> Floats:
    """Scale rows to unit length; a row of zeros stays zero."""
    unit: Floats = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9)
    return unit
