"""Vectors of words that are alike where the words mean alike, in many languages.

The networks know what stood in labelled texts. These vectors began as those of a multilingual
sentence encoder (see NOTICE), and learned from labels and from an expert's judgement that a text is
near the titles of its codes. So they also know words of which the labels say little. A text costs
a lookup for each word, not a run of the encoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.matrices import Floats, Ints, SparseRows, weighted_sums

COLUMNS = 96
"""Columns of a vector; with 128, a third more bytes, one code in 200 more is accepted."""

BYTES = COLUMNS // 2
"""Bytes of a word's vector, with two columns each."""

ZERO = 8
"""The level that stands for 0, of 16."""

DECODED = np.array([divmod(byte, 16) for byte in range(256)], np.float32) - ZERO
"""The two levels of each byte."""

TINY = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Vectors of the words that an encoder knows.

    Attributes:
        levels: words x `BYTES`, uint8, in the order of the encoder's features.
        scales: the value of one level of each word, float16.
    """

    levels: Ints
    scales: Floats

    def of_texts(self, words: SparseRows) -> Floats:
        """Return texts x `COLUMNS`, scaled to unit length: the weighted sums of their words.

        Args:
            words: texts x features; those that are no words, such as pairs of words, are left out.
        """
        own = words.where(words.columns < len(self.levels))
        own = own.scaled(self.scales[own.columns].astype(np.float32))
        found = weighted_sums(own, self._levels, COLUMNS)
        found /= np.linalg.norm(found, axis=1, keepdims=True) + TINY
        return found

    def rows(self) -> Floats:
        """Return the vectors of all words."""
        levels = self._levels(np.arange(len(self.levels)))
        found: Floats = levels * self.scales.astype(np.float32)[:, None]
        return found

    def _levels(self, which: Ints) -> Floats:
        return DECODED[self.levels[which]].reshape(len(which), COLUMNS)
