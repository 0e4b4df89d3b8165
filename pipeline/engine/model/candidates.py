"""Lists the best codes of a text, with what the networks and its words say of each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints, Texts
from pipeline.engine.model.encoder import Encoded
from pipeline.engine.model.largest import highest
from pipeline.engine.model.word_index import MEASURES, WordIndex

__all__ = ["CANDIDATES", "TRAITS", "Candidates", "Lister"]

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

    def candidates(self, shares: Floats, encoded: Encoded) -> Candidates:
        """Return the best codes of texts and their traits.

        Args:
            shares: texts x codes.
            encoded: the texts, by the encoder whose words are in the index.
        """
        places, best = highest(shares, CANDIDATES)
        log = np.log(best + TINY)
        measured = self.words.measured(encoded.words, places)
        # How far each is behind the best one: by the words, the examples, and the titles.
        behind = measured[:, :, :3] - measured[:, :, :3].max(axis=1, keepdims=True)
        each = (
            log,
            log - log[:, :1],
            np.log1p(np.arange(places.shape[1])),
            self.prior[places],
            self.depths[places],
            np.log1p(self.words.counts(places)),
            encoded.known[:, None],
            np.log1p(encoded.words.lengths)[:, None],
            log[:, :1],
        )
        alone = np.empty((*places.shape, len(each)), np.float32)
        for number, values in enumerate(each):
            alone[:, :, number] = values
        parts = (alone, measured, behind, self._together(places, best))
        return Candidates(places, best, np.concatenate(parts, axis=2, dtype=np.float32))

    def _together(self, places: Ints, shares: Floats) -> Floats:
        """Return the log share of the candidates that begin like each one, for each length."""
        found = []
        for beginning in self.beginnings.T:
            own = beginning[places]
            alike = own[:, :, None] == own[:, None, :]
            found.append(np.einsum("nij,nj->ni", alike, shares))
        return np.log(np.stack(found, axis=2) + TINY)
