"""Scores the codes of one system from the vectors of texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints, Texts
from pipeline.engine.model.encoder import Encoder, words_known
from pipeline.engine.model.products import blocks, products, softmax
from pipeline.engine.model.prototypes import Memory

__all__ = ["Blend", "Read", "Scorer", "Scores", "blend", "familiarity", "places"]

FROM_MEMORY = 0.3
"""Weight of the prototypes in the scores; the rest is the network's."""

STRANGE, FAMILIAR = 0.1, 0.5
"""If the known share of a text's features is below FAMILIAR, its scores count less, down to zero at
STRANGE: because features are hashed, about that share is known by chance in any script. No labelled
row shows this, so the values are a rule and not measured."""

Read: TypeAlias = Callable[[Encoder], tuple[Floats, Floats]]
"""Encodes texts with the given encoder; see `Encoder.hidden`."""


class Scores(Protocol):
    """Scores the codes of one system."""

    @property
    def codes(self) -> Texts:
        """The codes that are scored."""
        ...

    def shares(self, read: Read) -> tuple[Floats, Floats]:
        """Return (texts x codes: rows that sum to one; the known share of each text's features)."""
        ...

    def words_known(self, texts: tuple[str, ...]) -> Floats:
        """Return the known share of each text's words, which chance hardly raises."""
        ...


@dataclass(frozen=True, slots=True)
class Scorer:
    """The trained network of one system.

    Attributes:
        encoder: encodes texts as vectors.
        codes: the codes that the network can predict.
        directions: the weight vector of each code, codes x dimensions.
        prior: the bias of each code, independent of the text.
        memory: the prototypes of the codes, if any are stored.
    """

    encoder: Encoder
    codes: Texts
    directions: Floats
    prior: Floats
    memory: Memory | None = None

    def shares(self, read: Read) -> tuple[Floats, Floats]:
        """Return the codes' shares; see `Scores`."""
        hidden, known = read(self.encoder)
        shares = products(hidden, self.directions)
        for block in blocks(shares):
            shares[block] += self.prior
            softmax(shares[block])
        if self.memory is not None:
            self.memory.mix(shares, hidden, FROM_MEMORY)
        return shares, known

    def words_known(self, texts: tuple[str, ...]) -> Floats:
        """Return the share of each text's words that the encoder knows; see `Scores`."""
        return words_known(self.encoder, texts)


@dataclass(frozen=True, slots=True)
class Blend:
    """The weighted mean of the history model's scores and the shipped model's.

    Attributes:
        own: the scores of the history model.
        other: the scores of the shipped model.
        weight: the weight of ``own``, from 0 to 1; it is reduced for unfamiliar texts.
        codes: the codes of both models, those of ``own`` first.
        places: the indices of the codes of ``other`` in ``codes``.
    """

    own: Scorer
    other: Scores
    weight: float
    codes: Texts
    places: Ints

    def shares(self, read: Read) -> tuple[Floats, Floats]:
        """Return the codes' shares and the larger of the two models' known shares; see `Scores`."""
        own, known = self.own.shares(read)
        other, known_to_other = self.other.shares(read)
        weight = (self.weight * familiarity(known))[:, None].astype(np.float32)
        shares = np.zeros((len(own), len(self.codes)), np.float32)
        shares[:, : own.shape[1]] = weight * own
        shares[:, self.places] += (1 - weight) * other
        return shares, np.maximum(known, known_to_other)

    def words_known(self, texts: tuple[str, ...]) -> Floats:
        """Return the larger of the two models' known shares of words; see `Scores`."""
        return np.maximum(self.own.words_known(texts), self.other.words_known(texts))


def familiarity(known: Floats) -> Floats:
    """Return the trust in texts, from 0 to 1, given the known share of their features."""
    trusted: Floats = np.clip((known - STRANGE) / (FAMILIAR - STRANGE), 0, 1)
    return trusted


def blend(own: Scorer, other: Scores, weight: float) -> Blend:
    """Return the blend of both models' scores."""
    codes = np.concatenate([own.codes, other.codes[~np.isin(other.codes, own.codes)]])
    return Blend(own, other, weight, codes, places(codes, other.codes))


def places(codes: Texts, wanted: Texts) -> Ints:
    """Return the index in ``codes`` of each wanted code, -1 for a code that is missing."""
    place = {code: number for number, code in enumerate(codes.tolist())}
    return np.array([place.get(code, -1) for code in wanted.tolist()], np.intp)
