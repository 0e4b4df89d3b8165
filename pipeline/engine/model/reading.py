"""Holds what models read of a portion of texts, so that each part is computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.encoder import Encoded, Encoder
from pipeline.engine.model.features import Counts, count

__all__ = ["Reading", "reading"]

Kept = TypeVar("Kept")


class Reading:
    """The vectors of a portion of texts, and what is asked of them several times.

    Args:
        encode: returns the texts as vectors; see `Encoder.encode`. It is called once per encoder.
        counts: what the texts contain; with it, a few of them are encoded without the others.
        texts: the texts themselves; only those that judge codes need them.
    """

    def __init__(
        self,
        encode: Callable[[Encoder], Encoded],
        counts: Counts | None = None,
        texts: Sequence[str] = (),
    ) -> None:
        self.texts = texts
        self._encode = encode
        self._counts = counts
        self._encoded: dict[Encoder, Encoded] = {}
        self._kept: dict[Callable[[Reading], Any], Any] = {}
        self._few: dict[tuple[Encoder, bytes], Encoded] = {}

    def __call__(self, encoder: Encoder) -> Encoded:
        """Return the texts as vectors by an encoder."""
        if encoder not in self._encoded:
            self._encoded[encoder] = self._encode(encoder)
        return self._encoded[encoder]

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
        return Reading(lambda encoder: self._some(encoder, rows))

    def _some(self, encoder: Encoder, rows: Ints) -> Encoded:
        counts = self._counts
        # If these are most of the texts, all are encoded, as other systems ask about most, too.
        if counts is None or encoder in self._encoded or 2 * len(rows) > len(counts):
            return self(encoder).select(rows)
        key = encoder, rows.tobytes()
        if key not in self._few:
            self._few[key] = encoder.encode(counts.select(rows))
        return self._few[key]


@lru_cache(maxsize=1)
def reading(texts: tuple[str, ...]) -> Reading:
    """Return the reading of a portion; all systems, and what explains a code, get the same one."""
    counts = count(texts)
    return Reading(lambda encoder: encoder.encode(counts), counts, texts)
