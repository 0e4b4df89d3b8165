"""Scores the codes of one system from the vectors of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pipeline.engine.model.encoder import Encoder, Reading, enough_words_known
from pipeline.engine.model.matrices import Bools, Floats, IntegerRows, Ints, Texts, blocks, softmax

STRANGE, FAMILIAR = 0.1, 0.5
"""If the known share of a text's features is below FAMILIAR, its scores count less, down to zero at
STRANGE: because features are hashed, about that share is known by chance in any script. No labelled
row shows this, so the values are a rule and not measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """The trained network of one system.

    Attributes:
        encoder: encodes texts as vectors.
        codes: the codes that the network can predict.
        directions: the weight vector of each code.
        prior: the bias of each code, independent of the text.
        title_vectors: codes x columns, of unit length: what the titles mean, if that is known.
    """

    encoder: Encoder
    codes: Texts
    directions: IntegerRows
    prior: Floats
    title_vectors: Floats | None = None

    def shares(self, read: Reading) -> tuple[Floats, Floats]:
        """Return (texts x codes: rows that sum to one; the known share of each text's features)."""
        encoded = read(self.encoder)
        shares = self.directions(encoded.hidden)
        for block in blocks(shares):
            shares[block] += self.prior
            softmax(shares[block])
        return shares, encoded.known

    def enough_words_known(self, texts: tuple[str, ...]) -> Bools:
        """Return the texts of which the encoder knows enough words, more than chance would."""
        return enough_words_known(self.encoder, texts)


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """The weighted mean of the scores of two models, such as a history's and the shipped one's.

    Attributes:
        own: the scores of the model that was trained on fewer texts.
        other: the scores of the model beside it, which knows more wordings.
        weight: the weight of ``own``, from 0 to 1; it is reduced for unfamiliar texts.
        codes: the codes of both models, those of ``own`` first.
        places: the indices of the codes of ``other`` in ``codes``.
    """

    own: Scorer
    other: Scorer | Blend
    weight: float
    codes: Texts
    places: Ints

    def shares(self, read: Reading) -> tuple[Floats, Floats]:
        """Return the codes' shares and the larger of the two models' known shares."""
        own, other, known = self.parts(read)
        shares = np.zeros((len(other), len(self.codes)), np.float32)
        shares[:, self.places] = other
        shares[:, : own.shape[1]] += own
        return shares, known

    def parts(self, read: Reading) -> tuple[Floats, Floats, Floats]:
        """Return what each model adds to the shares of its codes.

        Returns:
            What ``own`` adds (texts x its codes), what ``other`` adds (texts x its codes), and the
            larger of the two known shares of each text.
        """
        other, known_to_other = read.kept(self.other.shares)  # others read them, too
        own, known_to_own = self.own.shares(read)
        weight = (self.weight * familiarity(known_to_own))[:, None].astype(np.float32)
        return weight * own, (1 - weight) * other, np.maximum(known_to_own, known_to_other)

    def enough_words_known(self, texts: tuple[str, ...]) -> Bools:
        """Return the texts of which one of the two models knows enough words."""
        known = self.other.enough_words_known(texts)
        return self.own.enough_words_known(texts) | known


Scores: TypeAlias = Scorer | Blend
"""Scores the codes of one system."""


def familiarity(known: Floats) -> Floats:
    """Return the trust in texts, from 0 to 1, given the known share of their features."""
    trusted: Floats = np.clip((known - STRANGE) / (FAMILIAR - STRANGE), 0, 1)
    return trusted


def blend(own: Scorer, other: Scores, weight: float) -> Blend:
    """Return the blend of both models' scores; see `Blend`."""
    codes = np.concatenate([own.codes, other.codes[~np.isin(other.codes, own.codes)]])
    return Blend(own, other, weight, codes, places(codes, other.codes))


def places(codes: Texts, wanted: Texts) -> Ints:
    """Return the index in ``codes`` of each wanted code, -1 for a code that is missing."""
    place = {code: number for number, code in enumerate(codes.tolist())}
    return np.array([place.get(code, -1) for code in wanted.tolist()], np.intp)
