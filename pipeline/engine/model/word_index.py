"""Scores codes by the words and word pairs that a text shares with their examples and titles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.sparse_rows import SparseRows

__all__ = ["LEVELS", "MEASURES", "SMOOTHING", "WordIndex"]

MEASURES = 3
"""For a word and a code: the log likelihood ratio, the share of the code's mean example, and the
largest share of one of its titles."""

LEVELS = 255
"""A value is stored in one byte, as a fraction of the largest of its measure."""

TINY = 1e-9

SMOOTHING = 3.0
"""How many average texts are added to those of a code before its word frequencies are taken."""


@dataclass(frozen=True, slots=True, eq=False)
class WordIndex:
    """How strongly words and pairs of words point to codes, as one list of entries per word.

    Attributes:
        lengths: the length of each word's list; the words are the first features of the encoder.
        codes: the index of each entry's code.
        values: entries x `MEASURES`, uint8.
        scales: the value of one level of each measure.
        texts: how many examples each code has.
        starts: where each word's list begins.
    """

    lengths: Ints
    codes: Ints
    values: Ints
    scales: Floats
    texts: Floats
    starts: Ints = field(init=False)

    def __post_init__(self) -> None:
        lengths = self.lengths.astype(np.int64)
        object.__setattr__(self, "starts", np.cumsum(lengths) - lengths)

    def measured(self, vectors: SparseRows, candidates: Ints) -> Floats:
        """Compare texts with their candidates.

        Args:
            vectors: the texts' features and their weights.
            candidates: texts x candidates, the indices of codes.

        Returns:
            texts x candidates x 4: the log likelihood ratio of the text's words (naive Bayes), the
            cosine with the code's mean example, how much of a title is in the text, and how much of
            the text is in titles.
        """
        known = vectors.columns < len(self.lengths)
        word, weight, text = vectors.columns[known], vectors.values[known], vectors.rows[known]
        lengths = self.lengths[word].astype(np.int32)
        ends = np.cumsum(lengths, dtype=np.int32)
        first = np.asarray(self.starts[word] - ends + lengths, np.int32)
        entry = np.repeat(first, lengths)
        entry += np.arange(len(entry), dtype=np.int32)
        pair = np.repeat(np.asarray(text * len(self.texts), np.int32), lengths)
        pair += self.codes[entry]
        count, size = candidates.shape[1], candidates.size
        slot = self._slots(candidates)[pair]
        wanted = np.flatnonzero(slot)
        owner = np.searchsorted(ends, wanted, side="right")
        place = text[owner] * count + slot[wanted] - 1
        values, weights = self.values[entry[wanted]] * self.scales, weight[owner]
        sums = [
            np.bincount(place, each, size)
            for each in (
                values[:, 0] * weights,
                values[:, 1] * weights,
                values[:, 2],
                weights * (values[:, 2] > 0),
            )
        ]
        found = np.stack(sums, axis=1).reshape(*candidates.shape, 4).astype(np.float64)
        whole = np.bincount(text, weight, len(candidates))[:, None]
        found[:, :, 0] += whole * np.log(SMOOTHING / (self.texts[candidates] + SMOOTHING))
        found[:, :, 3] /= np.maximum(whole, TINY)
        return found

    def _slots(self, candidates: Ints) -> Ints:
        """Return texts x codes in one row: the number of the candidate, from 1, or 0."""
        slots = np.zeros((len(candidates), len(self.texts)), np.uint8)
        numbers = np.arange(1, candidates.shape[1] + 1, dtype=np.uint8)
        np.put_along_axis(slots, candidates, numbers[None], axis=1)
        return slots.reshape(-1)
