"""Finds hashed features among those that a model knows, without a search."""

from __future__ import annotations

import numpy as np

from pipeline.engine.model.arrays import Bools, Ints
from pipeline.engine.model.features import BITS, BLOCKS

__all__ = ["KnownFeatures"]

TOGETHER = 4
"""Bits of a feature below its group: the 16 features of a group share a number of 16 bits."""

ONES = np.zeros(1, np.int32)
for _ in range(1 << TOGETHER):
    ONES = np.concatenate([ONES, ONES + 1])
ONES.flags.writeable = False
"""How many bits are set in each number of 16 bits."""


class KnownFeatures:
    """The indices of some features, found in 5 MB of tables.

    Each possible feature has a bit, which is set if it is known. Each group of 16 has the number of
    known features up to its end. The index of a known feature is this number, less the bits that
    are set from its own on. Searching for the sorted features of texts took a twentieth of the time
    of an answer.

    Args:
        features: hashed features, ascending, each once.
    """

    def __init__(self, features: Ints) -> None:
        every = np.zeros(BLOCKS << BITS, np.bool_)
        every[features] = True
        self._bits = np.packbits(every, bitorder="little").view("<u2")
        self._ends = np.cumsum(ONES[self._bits], dtype=np.int32)

    def find(self, features: Ints) -> tuple[Bools, Ints]:
        """Return (which of the hashed features are known, the index of each of those)."""
        group, bit = features >> TOGETHER, features & (1 << TOGETHER) - 1
        from_bit_on = self._bits[group] >> bit.astype(np.uint16)
        known = (from_bit_on & 1).astype(np.bool_)
        return known, self._ends[group[known]] - ONES[from_bit_on[known]]
