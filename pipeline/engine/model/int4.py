"""Packs hashed features, three bytes each."""

from __future__ import annotations

import numpy as np

from pipeline.engine.model.arrays import Ints

__all__ = ["from_three_bytes", "three_bytes"]


def three_bytes(numbers: Ints) -> Ints:
    """Return whole numbers below 2**24 as bytes: numbers x 3, the lowest byte first."""
    packed: Ints = numbers.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].copy()
    return packed


def from_three_bytes(packed: Ints) -> Ints:
    """Return the numbers that `three_bytes` packed, as uint32."""
    whole = np.zeros((len(packed), 4), np.uint8)
    whole[:, :3] = packed
    numbers: Ints = whole.view("<u4").ravel()
    return numbers
