"""Holds what models read of a portion of texts, so that each part is computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from pipeline.engine.model.encoder import Encoded, Encoder
from pipeline.engine.model.features import count

__all__ = ["Reading", "reading"]

Kept = TypeVar("Kept")


class Reading:
    """The vectors of a portion of texts, and what is asked of them several times.

    Args:
        encode: returns the texts as vectors; see `Encoder.encode`. It is called once per encoder.
        texts: the texts themselves; only those that judge codes need them.
    """

    def __init__(self, encode: Callable[[Encoder], Encoded], texts: Sequence[str] = ()) -> None:
        self.texts = texts
        self._encode = encode
        self._encoded: dict[Encoder, Encoded] = {}
        self._kept: dict[Callable[[Reading], Any], Any] = {}

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


@lru_cache(maxsize=1)
def reading(texts: tuple[str, ...]) -> Reading:
    """Return the reading of a portion; all systems, and what explains a code, get the same one."""
    counts = count(texts)
    return Reading(lambda encoder: encoder.encode(counts), texts)
