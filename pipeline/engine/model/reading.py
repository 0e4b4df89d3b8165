"""Holds what models read of a portion of texts, so that each part is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.encoder import Encoded, Encoder

__all__ = ["Reading"]

Kept = TypeVar("Kept")


class Reading:
    """The vectors of a portion of texts, and what is asked of them several times.

    Args:
        encode: returns the texts as vectors; see `Encoder.encode`.
    """

    def __init__(self, encode: Callable[[Encoder], Encoded]) -> None:
        self._encode = encode
        self._kept: dict[Callable[[Reading], Any], Any] = {}

    def __call__(self, encoder: Encoder) -> Encoded:
        """Return the texts as vectors by an encoder."""
        return self._encode(encoder)

    def kept(self, computed: Callable[[Reading], Kept]) -> Kept:
        """Return what a function computes of the texts, and keep it for others to read."""
        if computed not in self._kept:
            self._kept[computed] = computed(self)
        found: Kept = self._kept[computed]
        return found

    def of(
        self, shares: Callable[[Reading], tuple[Floats, Floats]], rows: Ints
    ) -> tuple[Floats, Floats]:
        """Return the scores of some of the texts, from those of all if they are kept."""
        if shares not in self._kept:
            return shares(self.only(rows))
        values, known = self._kept[shares]
        return values[rows], known[rows]

    def only(self, rows: Ints) -> Reading:
        """Return the reading of some of the texts."""
        return Reading(lambda encoder: self._encode(encoder).select(rows))
