"""The features that a model knows, and the weight of each in a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats, Ints
from pipeline.engine.model.features import Counts
from pipeline.engine.model.sparse_rows import SparseRows, distinct, summed

__all__ = ["Vocabulary", "learn"]

BLOCK_WEIGHTS = np.array([1.0, 0.7, 0.7])
"""Lengths of a text's word, n-gram and pair blocks before the whole vector is normalised."""


class Composition(NamedTuple):
    """Texts as weighted sums of the vectors of their tokens' halves and of their pairs.

    The vector of a half, the sum of its features, is the same in every text.

    Attributes:
        tokens: texts x halves of tokens: the weight of each.
        pairs: texts x known features: the weights of the pairs of neighbours.
        spelt: halves of tokens x known features.
        known: the known share of each text's features.
    """

    tokens: SparseRows
    pairs: SparseRows
    spelt: SparseRows
    known: Floats

    @property
    def words(self) -> SparseRows:
        """Texts x known features: the words and the pairs of neighbours, as in `vectors`."""
        return _added(self.tokens.where(self.tokens.columns % 2 == 0), self.pairs, self.spelt)

    def select(self, texts: Ints) -> Composition:
        """Return the given texts, in the given order."""
        tokens, pairs = self.tokens.select(texts), self.pairs.select(texts)
        return self._replace(tokens=tokens, pairs=pairs, known=self.known[texts])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The features that a model knows.

    Attributes:
        features: hashed features, ascending.
        rarity: the weight of each feature; the fewer texts have it, the higher.
    """

    features: Ints
    rarity: Floats

    def composed(self, counts: Counts) -> Composition:
        """Return how texts are composed of the features that are known.

        Each block is scaled as if the vectors of its tokens or pairs were orthogonal: n-grams that
        several tokens share hardly change its length. So no text needs all its features added up.
        """
        place = self._places(counts.present)
        is_known = self.features[place] == counts.present
        spelt = self._weighed(counts.spelt, place, is_known)
        pairs = self._weighed(_logarithms(counts.pairs), place, is_known)
        tokens = _logarithms(counts.tokens)
        row, half = tokens.rows, tokens.columns % 2
        squares = tokens.values**2 * _sums(spelt.values**2, spelt.rows, len(spelt))[tokens.columns]
        lengths = np.column_stack(
            [
                _sums(squares, 2 * row + half, 2 * len(counts)).reshape(-1, 2),
                _sums(pairs.values**2, pairs.rows, len(counts)),
            ]
        )
        scales = _scales(np.sqrt(lengths))
        return Composition(
            tokens.scaled(scales[row, half]),
            pairs.scaled(scales[pairs.rows, 2]),
            spelt,
            _amounts(counts, is_known) / np.maximum(_amounts(counts, np.ones_like(is_known)), 1e-9),
        )

    def vectors(self, counts: Counts) -> SparseRows:
        """Return texts x known features: what `composed` describes, added up by feature."""
        tokens, pairs, spelt, _ = self.composed(counts)
        return _added(tokens, pairs, spelt)

    def _weighed(self, counted: SparseRows, place: Ints, is_known: Bools) -> SparseRows:
        """Return rows x known features: the values times the rarity of the features."""
        kept = counted.where(is_known[counted.columns])
        column = place[kept.columns]
        values = kept.values * self.rarity[column].astype(np.float32)
        return SparseRows(values, column, kept.ends)

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
    texts = sum(map(len, parts))
    features, places = distinct(np.concatenate([part.present for part in parts]))
    seen = np.concatenate([part.frequencies() for part in parts])
    times = _sums(seen, places, len(features))
    often = np.flatnonzero(times >= at_least)
    if len(often) > most:
        often = np.sort(often[np.argsort(-times[often], kind="stable")[:most]])
    rarity = np.log1p(texts / (times[often] + 0.5))
    return Vocabulary(features[often].astype(np.uint32), rarity.astype(np.float32))


def _added(tokens: SparseRows, pairs: SparseRows, spelt: SparseRows) -> SparseRows:
    """Return texts x features: the features of tokens' halves, and of pairs, added up."""
    entries = spelt.select(tokens.columns)
    token = entries.rows
    return summed(
        np.concatenate([tokens.values[token] * entries.values, pairs.values]),
        np.concatenate([tokens.rows[token], pairs.rows]),
        np.concatenate([entries.columns, pairs.columns]),
        len(tokens),
    )


def _logarithms(rows: SparseRows) -> SparseRows:
    return SparseRows(np.log1p(rows.values), rows.columns, rows.ends)


def _scales(lengths: Floats) -> Floats:
    """Return texts x blocks: the factors with which the text's vector has unit length."""
    wanted = BLOCK_WEIGHTS * (lengths > 0)
    whole = np.sqrt((wanted**2).sum(axis=1, keepdims=True))
    scales: Floats = wanted / np.maximum(lengths * whole, 1e-9)
    return scales


def _amounts(counts: Counts, features: Bools) -> Floats:
    """Return how much of some features each text has, as counted."""
    tokens, pairs, spelt = counts.tokens, counts.pairs, counts.spelt
    of_halves = _sums(features[spelt.columns], spelt.rows, len(spelt))
    spelt_out = _sums(tokens.values * of_halves[tokens.columns], tokens.rows, len(counts))
    return spelt_out + _sums(pairs.values * features[pairs.columns], pairs.rows, len(counts))


def _sums(values: Floats | Bools | Ints, group: Ints, groups: int) -> Floats:
    sums: Floats = np.bincount(group, values, groups).astype(np.float64)
    return sums
