"""Tells how strongly the words of a text point to some codes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.sparse_rows import SparseRows

__all__ = [
    "LEVELS",
    "MEASURES",
    "MOST_CODES",
    "OF_EXAMPLES",
    "OF_TITLES",
    "SMOOTHING",
    "InvertedIndex",
    "WordIndex",
]

LEVELS = 255
"""A value is stored in one byte, as a fraction of the largest of its measure."""

MOST_CODES = 64
"""A word of more codes is left out: it says little, and takes most of the time."""

OF_EXAMPLES, OF_TITLES = 2, 1
"""How many measures are stored of a word and a code; see `WordIndex`."""

MEASURES = OF_EXAMPLES + OF_TITLES + 1
"""What is known of a text's words and a code; see `WordIndex.measured`. How much of the text is in
titles needs no stored measure."""

SMOOTHING = 3.0
"""How many average texts are added to those of a code before its word frequencies are taken."""

TINY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class InvertedIndex:
    """The codes of words and of pairs of neighbours, as one list of entries per word.

    Attributes:
        lengths: the length of each word's list, uint8; the words are the first features of the
            encoder.
        codes: the index of each entry's code.
        values: entries x measures, uint8.
        scales: the value of one level of each measure.
        starts: where each word's list begins.
    """

    lengths: Ints
    codes: Ints
    values: Ints
    scales: Floats
    starts: Ints = field(init=False)

    def __post_init__(self) -> None:
        """Find where the lists begin."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        object.__setattr__(self, "starts", ends - self.lengths)

    def entries(self, words: SparseRows, slots: Ints) -> tuple[Ints, Ints, Floats]:
        """Find the entries of texts' words that are about a candidate.

        Args:
            words: texts x features.
            slots: texts x codes, the number of the candidate from 1, or 0.

        Returns:
            For each entry found: its place in the values of ``words``, the number of its candidate
            from 0, and its measures.
        """
        listed = np.flatnonzero(words.columns < len(self.lengths))
        column = words.columns[listed]
        lengths = self.lengths[column].astype(np.int64)
        ends = np.cumsum(lengths)
        entry = np.repeat(self.starts[column] - ends + lengths, lengths) + np.arange(lengths.sum())
        text = np.repeat(words.rows[listed] * slots.shape[1], lengths)
        slot = slots.reshape(-1)[text + self.codes[entry]]
        found = np.flatnonzero(slot)
        owner = listed[np.searchsorted(ends, found, side="right")]
        return owner, slot[found].astype(np.intp) - 1, self.values[entry[found]] * self.scales


@dataclass(frozen=True, slots=True, eq=False)
class WordIndex:
    """What the words of the examples and the titles say of the codes.

    Attributes:
        examples: for a word and a code, the log likelihood ratio, and the share of the word in the
            mean example of the code.
        titles: for a word and a code, the largest share that the word has of one of its titles.
        texts: how many examples each code has.
    """

    examples: InvertedIndex
    titles: InvertedIndex
    texts: Floats

    def measured(self, words: SparseRows, places: Ints) -> Floats:
        """Compare texts with their candidates.

        Args:
            words: texts x features: the words and pairs of neighbours, and their weights.
            places: texts x candidates, the indices of codes; those that the index lacks are above.

        Returns:
            texts x candidates x `MEASURES`: the log likelihood ratio of the text's words (naive
            Bayes), the cosine with the code's mean example, how much of a title is in the text,
            and how much of the text is in titles.
        """
        slots = self._slots(places)
        shape = places.shape
        rows, weights = words.rows, words.values
        owner, slot, values = self.examples.entries(words, slots)
        at, weight = rows[owner] * shape[1] + slot, weights[owner]
        ratio, cosine = (_sums(values[:, k] * weight, at, shape) for k in range(OF_EXAMPLES))
        owner, slot, values = self.titles.entries(words, slots)
        at = rows[owner] * shape[1] + slot
        of_title, of_text = _sums(values[:, 0], at, shape), _sums(weights[owner], at, shape)
        whole = np.bincount(rows, weights, len(words))[:, None]
        common = whole * np.log(SMOOTHING / (self.counts(places) + SMOOTHING))
        return np.stack(
            [ratio + common, cosine, of_title, of_text / np.maximum(whole, TINY)], axis=2
        )

    def counts(self, places: Ints) -> Floats:
        """Return how many examples the codes have; none those that the index lacks."""
        known = places < len(self.texts)
        return np.where(known, self.texts[np.where(known, places, 0)], 0)

    def _slots(self, places: Ints) -> Ints:
        """Return texts x codes: the number of the candidate, from 1, or 0."""
        slots = np.zeros((len(places), len(self.texts)), np.uint8)
        row, number = np.nonzero(places < len(self.texts))
        slots[row, places[row, number]] = number + 1
        return slots


def _sums(values: Floats, at: Ints, shape: tuple[int, ...]) -> Floats:
    sums: Floats = np.bincount(at, values, shape[0] * shape[1]).astype(np.float64)
    return sums.reshape(shape)
