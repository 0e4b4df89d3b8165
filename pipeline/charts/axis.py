"""Ticks for the axes of charts."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tick", "percent_ticks", "round_ticks"]

MOST_STEPS = 4


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: its place in the drawing's units, and its label."""

    at: float
    text: str


def percent_ticks(length: float, quarters: int = 4) -> list[Tick]:
    """Return a tick for every 25 %, on an axis whose 100 % are `length` long."""
    return [Tick(length * quarter / 4, f"{25 * quarter}") for quarter in range(quarters + 1)]


def round_ticks(highest: int) -> list[int]:
    """Return evenly spaced round numbers from 0 up to `highest` or just above it.

    There are at most four steps, and each is 1, 2 or 5 times a power of ten.
    """
    step = 1
    while step * MOST_STEPS < highest:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2
    return list(range(0, max(highest, 1) + step, step))[: max(2, -(-highest // step) + 1)]
