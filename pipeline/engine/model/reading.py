"""Holds what models read of a portion of texts, so that each part is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.encoder import Encoded, Encoder

__all__ = ["Reading", "Shares"]

Shares: TypeAlias = Callable[["Reading"], tuple[Floats, Floats]]
"""Scores the codes of a system; see `pipeline.engine.model.scorer.Scores`."""


class Reading:
    """The vectors of a portion of texts, and the scores that several systems ask for.

    Args:
        encode: returns the texts as vectors; see `Encoder.encode`.
    """

    def __init__(self, encode: Callable[[Encoder], Encoded]) -> None:
        self._encode = encode
        self._kept: dict[Shares, tuple[Floats, Floats]] = {}

    def __call__(self, encoder: Encoder) -> Encoded:
        """Return the texts as vectors by an encoder."""
        return self._encode(encoder)

    def kept(self, shares: Shares) -> tuple[Floats, Floats]:
        """Return the scores of the texts, and keep them for others to read."""
        if shares not in self._kept:
            self._kept[shares] = shares(self)
        return self._kept[shares]

    def of(self, shares: Shares, rows: Ints) -> tuple[Floats, Floats]:
        """Return the scores of some of the texts, from those of all if they are kept."""
        if shares not in self._kept:
            return shares(self.only(rows))
        values, known = self._kept[shares]
        return values[rows], known[rows]

    def only(self, rows: Ints) -> Reading:
        """Return the reading of some of the texts."""
        return Reading(lambda encoder: self._encode(encoder).select(rows))
