"""Looks up texts that occur in the history and gives them their usual code there."""

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
    """The texts of a history, stored only as hashes.

    Attributes:
        hashes: hashes of the normalised texts, ascending, uint64.
        labels: the index of each text's usual code.
        usual: how often each text had that code.
        seen: how often each text occurs in the history.
        trust: how often held-out texts that also occur in the rest had their usual code.
    """

    hashes: Ints
    labels: Ints
    usual: Ints
    seen: Ints
    trust: float = 0.5

    def find(self, hashes: Ints) -> tuple[Bools, Ints, Floats]:
        """Return (which texts are in the history, indices of their codes, confidence in them)."""
        if not len(self.hashes):
            nothing = np.zeros(len(hashes), np.intp)
            return nothing.astype(np.bool_), nothing, nothing.astype(np.float64)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        sure = (self.usual[place] - 1 + 2 * self.trust) / (self.seen[place] + 1)
        return self.hashes[place] == hashes, self.labels[place].astype(np.intp), sure


@lru_cache(maxsize=1)
def hashed(texts: tuple[str, ...]) -> Ints:
    """Return `hashes` of texts, computed once for all systems."""
    return hashes(texts)


def hashes(texts: Sequence[str]) -> Ints:
    """Return a 64-bit hash of each text, ignoring case and differences in white space."""
    normal = (" ".join(text.casefold().split()).encode("utf-8", "replace") for text in texts)
    digests = [int.from_bytes(blake2b(text, digest_size=8).digest()) for text in normal]
    return np.array(digests, np.uint64)


def gather(hashes: Ints, labels: Ints) -> Repeats:
    """Return the most frequent code of each text; the first code wins a tie."""
    order = np.lexsort((labels, hashes))
    pairs = np.stack([hashes[order], labels[order].astype(np.uint64)], axis=1)
    pairs, times = np.unique(pairs, axis=0, return_counts=True)
    best = np.lexsort((pairs[:, 1], -times, pairs[:, 0]))
    texts, first, seen_as = np.unique(pairs[best, 0], return_index=True, return_inverse=True)
    seen = np.bincount(seen_as, times[best], len(texts)).astype(np.int64)
    chosen = best[first]
    return Repeats(texts, pairs[chosen, 1].astype(np.int64), times[chosen], seen)
