"""The features that a model knows, and the weight of each in a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats, Ints
from pipeline.engine.model.features import Counts
from pipeline.engine.model.known_features import KnownFeatures
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


@dataclass(frozen=True)
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
        known_pairs = self._known(counts.pairs)
        spelt = self._weighed(self._known(counts.spelt))
        pairs = self._weighed(_logarithms(known_pairs))
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
            _amounts(counts.tokens, spelt.lengths, known_pairs)
            / np.maximum(_amounts(counts.tokens, counts.spelt.lengths, counts.pairs), 1e-9),
        )

    def vectors(self, counts: Counts) -> SparseRows:
        """Return texts x known features: what `composed` describes, added up by feature."""
        tokens, pairs, spelt, _ = self.composed(counts)
        return _added(tokens, pairs, spelt)

    def _known(self, counted: SparseRows) -> SparseRows:
        """Return rows x known features, given rows x hashed features."""
        known, places = self._places.find(counted.columns)
        return replace(counted.where(known), columns=places)

    def _weighed(self, known: SparseRows) -> SparseRows:
        """Return rows x known features: the values times the rarity of the features."""
        return known.scaled(self.rarity[known.columns].astype(np.float32))

    def knows(self, features: Ints) -> Bools:
        """Return which features are known."""
        return self._places.find(features)[0]

    @cached_property
    def _places(self) -> KnownFeatures:
        return KnownFeatures(self.features)


def learn(parts: Sequence[Counts], at_least: int, most: int) -> Vocabulary:
    """Return the vocabulary of the most frequent features.

    Args:
        parts: the feature counts of the texts.
        at_least: the minimum number of texts with a feature.
        most: the maximum number of features to keep.
    """
    texts = sum(map(len, parts))
    seen = [part.frequencies() for part in parts]
    features, places = distinct(np.concatenate([found for found, _ in seen]))
    times = _sums(np.concatenate([often for _, often in seen]), places, len(features))
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


def _amounts(tokens: SparseRows, spelt: Ints, pairs: SparseRows) -> Floats:
    """Return how many of some features each text has: those of its tokens' halves, and pairs."""
    spelt_out = _sums(tokens.values * spelt[tokens.columns], tokens.rows, len(tokens))
    return spelt_out + _sums(pairs.values, pairs.rows, len(tokens))


def _sums(values: Floats | Bools | Ints, group: Ints, groups: int) -> Floats:
    sums: Floats = np.bincount(group, values, groups).astype(np.float64)
    return sums
