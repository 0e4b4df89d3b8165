"""A learned model of one system: answers batches of texts with codes and confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.answers import System
from pipeline.engine.model.arrays import Bools, Floats, Ints, Texts
from pipeline.engine.model.calibration import Calibration, evidence
from pipeline.engine.model.encoder import encoded, portions
from pipeline.engine.model.exact_matches import Repeats, hashed
from pipeline.engine.model.general_codes import fields, made_specific
from pipeline.engine.model.largest import largest
from pipeline.engine.model.scorer import Blend, Read, Scores, familiarity

__all__ = ["Model", "highest"]

LEAST_KNOWN = 0.2
"""A text of whose words less is known gets no match: what its parts speak for is chance.

Of 8,000 labelled texts, 2,000 a system, 2 are so, which are reference numbers; with the words of
215,000 other texts in place of those that the shipped model knows 3. Of made-up noise it is all
numbers and emoji, 99 % of UUIDs, 85 to 99 % of rows of random letters and 78 % of rows of keys; a
word of two or three letters is often known by chance, and of the Latin of placeholder texts (lorem
ipsum) most is a word somewhere."""


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that answers for a system.

    Attributes:
        system: whose codes it gives.
        scores: tells how likely each code is.
        repeats: the examples' texts, to know them again.
        only_history: whether nothing but the examples was learned from.
        calibration: None while the model is being made.
        unseen: how often a held-back example had a code that the model does not know.
    """

    system: System
    scores: Scores
    repeats: Repeats
    only_history: bool
    calibration: Calibration | None = None
    unseen: float = 0.0

    @property
    def codes(self) -> Texts:
        """The codes it can give."""
        return self.scores.codes

    @property
    def weight(self) -> float:
        """The weight of its scores against another model's; 1 if it answers alone."""
        return self.scores.weight if isinstance(self.scores, Blend) else 1.0

    def predict(self, texts: Sequence[str], top: int) -> tuple[Ints, Floats]:
        """Return (texts x places of the top codes, best first; their confidence)."""
        width = min(top, len(self.codes))
        places = np.empty((len(texts), width), np.intp)
        confidence = np.empty((len(texts), width))
        start = 0
        for portion in portions(texts):
            part = slice(start, start + len(portion))
            read = _reader(portion)
            places[part], confidence[part] = self.ranked(read, hashed(portion), width)
            confidence[part][self._strange(portion)] = 0
            start += len(portion)
        return places, confidence

    def shares(self, read: Read) -> tuple[Floats, Floats]:
        """Return the codes' shares, those of general codes passed on; see `Scores`."""
        shares, known = self.scores.shares(read)
        return made_specific(shares, fields(self.system, self.codes)), known

    def ranked(self, read: Read, seen: Ints, top: int) -> tuple[Ints, Floats]:
        """Rank the codes of texts that are read and hashed elsewhere; see `predict`."""
        shares, known = self.shares(read)
        places, best = highest(shares, max(top, 2))
        if self.calibration is not None:
            second = best[:, 1] if best.shape[1] > 1 else np.zeros(len(best))
            first = self.calibration.confidence(evidence(best[:, 0], second, known))
            first *= familiarity(known)  # nothing is known: confidence 0, which means no match
            best = np.column_stack([first, self.calibration.others(best, first)])
        self._put_repeats_first(places, best, seen)
        return places[:, :top], best[:, :top]

    def _strange(self, texts: tuple[str, ...]) -> Bools:
        """Tell which texts nothing is known of: confidence 0, which means no match."""
        seen, _, _ = self.repeats.find(hashed(texts))
        strange: Bools = ~seen & (self.scores.words_known(texts) < LEAST_KNOWN)
        return strange

    def _put_repeats_first(self, places: Ints, confidence: Floats, seen: Ints) -> None:
        """Answer a text that was seen in training with the code that it usually had."""
        found, labels, sure = self.repeats.find(seen)
        for row in np.flatnonzero(found):
            others = places[row] != labels[row]
            rest = places[row][others][: places.shape[1] - 1]
            left = np.minimum(confidence[row][others][: len(rest)], 1 - sure[row])
            places[row] = [labels[row], *rest]
            # The others may not have more than the first leaves, nor more than the first.
            confidence[row] = [sure[row], *np.minimum(left, sure[row])]


def _reader(texts: tuple[str, ...]) -> Read:
    return lambda encoder: encoded(encoder, texts)


def highest(shares: Floats, count: int) -> tuple[Ints, Floats]:
    """Return (the places of each row's highest shares, those shares); of equals, the first."""
    count = min(count, shares.shape[1])
    row, place, values = largest(shares, count)
    best = np.searchsorted(row, np.arange(len(shares)))[:, None] + np.arange(count)
    return place[best], values[best].astype(np.float64)
