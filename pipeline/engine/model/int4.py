"""Packs weights, two integers from -7 to 7 per byte, and features, three bytes each."""

from __future__ import annotations

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints

__all__ = ["from_three_bytes", "pack", "three_bytes", "unpack"]


def pack(rows: Floats) -> tuple[Ints, Floats]:
    """Return (rows x half the columns, rounded up, uint8; the scale of each row, float16)."""
    if rows.shape[1] % 2:
        rows = np.pad(rows, ((0, 0), (0, 1)))
    largest = np.abs(rows).max(axis=1, initial=0)
    scales = (largest / 7 + 1e-7).astype(np.float16)
    levels = np.clip(np.rint(rows / scales.astype(np.float32)[:, None]), -7, 7).astype(np.int8) + 7
    return (levels[:, 0::2] | levels[:, 1::2] << 4).astype(np.uint8), scales


def unpack(packed: Ints, width: int) -> Floats:
    """Return the integers of the rows as float32, with their original number of columns."""
    levels = np.empty((len(packed), packed.shape[1] * 2), np.float32)
    levels[:, 0::2] = packed & 15
    levels[:, 1::2] = packed >> 4
    levels -= 7
    return levels[:, :width]


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
