"""Lists the best codes of a text, with what the networks and its words say of each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pipeline.engine.model.features import Composition
from pipeline.engine.model.matrices import Floats, Ints, SparseRows, Texts, highest

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

LEAST = 1e-9


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

    def entries(self, words: SparseRows, slots: Ints) -> tuple[Ints, Floats, Ints, Floats]:
        """Find the entries of texts' words that are about a candidate.

        Args:
            words: texts x features.
            slots: texts x codes, the number of the candidate from 1, or 0.

        Returns:
            For each entry found: its text, the weight of its word in it, the number of its
            candidate from 0, and its measures.
        """
        listed = np.flatnonzero(words.columns < len(self.lengths))
        column = words.columns[listed]
        lengths = self.lengths[column].astype(np.int64)
        ends = np.cumsum(lengths)
        entry = np.repeat(self.starts[column] - ends + lengths, lengths) + np.arange(lengths.sum())
        text = words.rows[listed]
        row = np.repeat(text * slots.shape[1], lengths)
        slot = slots.reshape(-1)[row + self.codes[entry]]
        filled = np.flatnonzero(slot)
        owner = np.searchsorted(ends, filled, side="right")
        candidate = slot[filled].astype(np.intp) - 1
        measures = self.values[entry[filled]] * self.scales
        return text[owner], words.values[listed[owner]], candidate, measures


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

    def measured(self, words: SparseRows, indices: Ints) -> Floats:
        """Compare texts with their candidates.

        Args:
            words: texts x features: the words and pairs of neighbours, and their weights.
            indices: texts x candidates, the indices of codes; those that the index lacks are above.

        Returns:
            texts x candidates x `MEASURES`: the log likelihood ratio of the text's words (naive
            Bayes), the cosine with the code's mean example, how much of a title is in the text,
            and how much of the text is in titles.
        """
        slots, shape = self._slots(indices), indices.shape
        text, weight, candidate, values = self.examples.entries(words, slots)
        at = text * shape[1] + candidate
        ratio, cosine = (_sums(values[:, k] * weight, at, shape) for k in range(OF_EXAMPLES))
        text, weight, candidate, values = self.titles.entries(words, slots)
        at = text * shape[1] + candidate
        of_title, of_text = _sums(values[:, 0], at, shape), _sums(weight, at, shape)
        whole = words.sums(words.values)[:, None]
        common = whole * np.log(SMOOTHING / (self.counts(indices) + SMOOTHING))
        return np.stack(
            [ratio + common, cosine, of_title, of_text / np.maximum(whole, LEAST)], axis=2
        )

    def counts(self, indices: Ints) -> Floats:
        """Return how many examples the codes have; none those that the index lacks."""
        has_texts = indices < len(self.texts)
        return np.where(has_texts, self.texts[np.where(has_texts, indices, 0)], 0)

    def _slots(self, indices: Ints) -> Ints:
        """Return texts x codes: the number of the candidate, from 1, or 0."""
        slots = np.zeros((len(indices), len(self.texts)), np.uint8)
        row, number = np.nonzero(indices < len(self.texts))
        slots[row, indices[row, number]] = number + 1
        return slots


def _sums(values: Floats, at: Ints, shape: tuple[int, ...]) -> Floats:
    sums: Floats = np.bincount(at, values, shape[0] * shape[1]).astype(np.float64)
    return sums.reshape(shape)


CANDIDATES = 15
"""How many of the best codes are judged: an accepted one is nearly always among
the first ten if there is one."""

PREFIXES = (2, 3, 4, 6)
"""Lengths of the code beginnings whose candidates are counted together."""

TRAITS = 9 + MEASURES + 3 + len(PREFIXES)
"""How many numbers describe a candidate."""

TINY = 1e-6
"""Added to shares before their logarithm."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The best codes of some texts.

    Attributes:
        places: texts x candidates, the indices of the codes, best first.
        shares: their shares.
        traits: texts x candidates x `TRAITS`.
    """

    places: Ints
    shares: Floats
    traits: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Lister:
    """Lists the best codes of texts, with what is known of each.

    Attributes:
        words: what the words of a text say of the codes.
        codes: all codes that are scored.
        prior: the log frequency of each.
        depths: how many digits each has before the zeros at its end.
        beginnings: codes x lengths of `PREFIXES`, equal numbers for codes that begin alike.
    """

    words: WordIndex
    codes: Texts
    prior: Floats
    depths: Ints = field(init=False)
    beginnings: Ints = field(init=False)

    def __post_init__(self) -> None:
        """Look at the digits of the codes."""
        digits = np.frombuffer(self.codes.astype("S8").tobytes(), ">u8")
        cut = [digits >> np.uint64(8 * (8 - length)) for length in PREFIXES]
        stripped = np.char.rstrip(self.codes.astype("S8"), b"0")
        object.__setattr__(self, "depths", np.char.str_len(stripped))
        object.__setattr__(self, "beginnings", np.stack(cut, axis=1))

    @classmethod
    def of(cls, words: WordIndex, codes: Texts, prior: Floats) -> Lister:
        """Return the lister of codes; those without a prior come last, and are the rarest."""
        return cls(words, codes, np.append(prior, np.full(len(codes) - len(prior), prior.min())))

    def candidates(self, shares: Floats, composition: Composition) -> Candidates:
        """Return the best codes of texts and their traits.

        Args:
            shares: texts x codes.
            composition: the texts, by the encoder whose words are in the index.
        """
        indices, best = highest(shares, CANDIDATES)
        log = np.log(best + TINY)
        words = composition.words
        measured = self.words.measured(words, indices)
        # How far each is behind the best one: by the words, the examples, and the titles.
        behind = measured[:, :, :3] - measured[:, :, :3].max(axis=1, keepdims=True)
        traits = (
            log,
            log - log[:, :1],
            np.log1p(np.arange(indices.shape[1])),
            self.prior[indices],
            self.depths[indices],
            np.log1p(self.words.counts(indices)),
            composition.known[:, None],
            np.log1p(words.lengths)[:, None],
            log[:, :1],
        )
        alone = np.empty((*indices.shape, len(traits)), np.float32)
        for number, values in enumerate(traits):
            alone[:, :, number] = values
        parts = (alone, measured, behind, self._together(indices, best))
        return Candidates(indices, best, np.concatenate(parts, axis=2, dtype=np.float32))

    def _together(self, indices: Ints, shares: Floats) -> Floats:
        """Return the log share of the candidates that begin like each one, for each length."""
        sums = []
        for beginning in self.beginnings.T:
            beginnings = beginning[indices]
            alike = beginnings[:, :, None] == beginnings[:, None, :]
            sums.append(np.einsum("nij,nj->ni", alike, shares))
        return np.log(np.stack(sums, axis=2) + TINY)
