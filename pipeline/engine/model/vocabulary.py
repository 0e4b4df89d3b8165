"""The features that a model knows, and the weight of each in a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats, Ints
from pipeline.engine.model.features import BITS, BLOCKS, Counts
from pipeline.engine.model.sparse_rows import SparseRows, distinct

__all__ = ["Vocabulary", "learn"]

BLOCK_WEIGHTS = (1.0, 0.7, 0.7)
"""Lengths of a text's word, pair and n-gram blocks before the whole vector is normalised."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The features that a model knows.

    Attributes:
        features: hashed features, ascending.
        rarity: the weight of each feature; the fewer texts have it, the higher.
    """

    features: Ints
    rarity: Floats

    def vectors(self, counts: Counts) -> tuple[SparseRows, Floats]:
        """Return (texts x known features: rows of unit length; known share of a text's counts)."""
        counted, present = counts
        texts, row = len(counted), counted.rows
        place = self._places(present)
        kept = (self.features[place] == present)[counted.columns]
        share = _sums(counted.values * kept, row, texts) / np.maximum(
            _sums(counted.values, row, texts), 1e-9
        )
        row, column = row[kept], place[counted.columns[kept]]
        data = np.log1p(counted.values[kept]) * self.rarity[column].astype(np.float32)
        block = row * BLOCKS + (self.features[column] >> BITS)
        data = data / np.sqrt(_sums(data**2, block, texts * BLOCKS))[block]
        data *= np.array(BLOCK_WEIGHTS)[block % BLOCKS]
        data /= np.sqrt(_sums(data**2, row, texts))[row]
        ends = np.searchsorted(row, np.arange(texts + 1))
        return SparseRows(data.astype(np.float32), column, ends), share

    def knows(self, features: Ints) -> Bools:
        """Return which features are known."""
        some, places = distinct(features)  # sorted, they are found several times as fast
        known: Bools = self.features[self._places(some)] == some
        return known[places]

    def _places(self, features: Ints) -> Ints:
        """Return the index of each known feature; for others, an arbitrary one."""
        place = np.searchsorted(self.features, features)
        place[place == len(self.features)] = 0
        return place


def learn(parts: Sequence[Counts], at_least: int, most: int) -> Vocabulary:
    """Return the vocabulary of the most frequent features.

    Args:
        parts: the feature counts of the texts.
        at_least: the minimum number of texts with a feature.
        most: the maximum number of features to keep.
    """
    texts = sum(len(part.rows) for part in parts)
    features, places = distinct(np.concatenate([part.present for part in parts]))
    seen = [np.bincount(part.rows.columns, minlength=len(part.present)) for part in parts]
    times = _sums(np.concatenate(seen), places, len(features))
    often = np.flatnonzero(times >= at_least)
    if len(often) > most:
        often = np.sort(often[np.argsort(-times[often], kind="stable")[:most]])
    rarity = np.log1p(texts / (times[often] + 0.5))
    return Vocabulary(features[often].astype(np.uint32), rarity.astype(np.float32))


def _sums(values: Floats, group: Ints, groups: int) -> Floats:
    sums: Floats = np.bincount(group, values, groups).astype(np.float64)
    return sums
