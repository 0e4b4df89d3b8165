"""The marks on the axes of all plots."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Tick"]


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str
