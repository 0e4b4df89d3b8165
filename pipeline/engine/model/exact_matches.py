"""Knows a text again that the history had: it gets the code that it usually had there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats, Ints

__all__ = ["Repeats", "gather", "hashed", "hashes"]


@dataclass(frozen=True, slots=True)
class Repeats:
    """The texts of a history by their hashes; of the texts themselves nothing is kept.

    Attributes:
        hashes: of the normalised texts, ascending, uint64.
        labels: the place of each text's usual code.
        usual: how often it had that code.
        seen: how often the history has it.
        trust: how often held-back texts that the rest has too had their usual code.
    """

    hashes: Ints
    labels: Ints
    usual: Ints
    seen: Ints
    trust: float = 0.5

    def find(self, hashes: Ints) -> tuple[Bools, Ints, Floats]:
        """Return (which texts were seen, the places of their codes, how sure those are)."""
        if not len(self.hashes):
            nothing = np.zeros(len(hashes), np.intp)
            return nothing.astype(np.bool_), nothing, nothing.astype(np.float64)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        sure = (self.usual[place] - 1 + 2 * self.trust) / (self.seen[place] + 1)
        return self.hashes[place] == hashes, self.labels[place].astype(np.intp), sure


@lru_cache(maxsize=1)
def hashed(texts: tuple[str, ...]) -> Ints:
    """Return `hashes` of texts, found once for all the systems that are asked about them."""
    return hashes(texts)


def hashes(texts: Sequence[str]) -> Ints:
    """Return 64 bits of each text, whatever its case and white space."""
    normal = (" ".join(text.casefold().split()).encode("utf-8", "replace") for text in texts)
    digests = [int.from_bytes(blake2b(text, digest_size=8).digest()) for text in normal]
    return np.array(digests, np.uint64)


def gather(hashes: Ints, labels: Ints) -> Repeats:
    """Return the usual code of each text; of codes equally often the first counts."""
    order = np.lexsort((labels, hashes))
    pairs = np.stack([hashes[order], labels[order].astype(np.uint64)], axis=1)
    pairs, times = np.unique(pairs, axis=0, return_counts=True)
    best = np.lexsort((pairs[:, 1], -times, pairs[:, 0]))
    texts, first, seen_as = np.unique(pairs[best, 0], return_index=True, return_inverse=True)
    seen = np.bincount(seen_as, times[best], len(texts)).astype(np.int64)
    chosen = best[first]
    return Repeats(texts, pairs[chosen, 1].astype(np.int64), times[chosen], seen)
