"""Scores the codes of one system by the vectors of texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints, Texts
from pipeline.engine.model.encoder import Encoder, words_known
from pipeline.engine.model.products import products, softmax
from pipeline.engine.model.prototypes import Memory

__all__ = ["Blend", "Read", "Scorer", "Scores", "blend", "familiarity", "places"]

FROM_MEMORY = 0.3
"""Share of the memory in the answer; the rest is the network's."""

STRANGE, FAMILIAR = 0.1, 0.5
"""Texts of which less than the second share of the features is known are trusted less, down to
nothing at the first: so many are known of any script by accident, as features are hashed. No
labelled row shows this, so it is a rule and not measured."""

Read: TypeAlias = Callable[[Encoder], tuple[Floats, Floats]]
"""Tells what an encoder makes of some texts; see `Encoder.hidden`."""


class Scores(Protocol):
    """What tells how likely each of some codes is."""

    @property
    def codes(self) -> Texts:
        """The codes."""
        ...

    def shares(self, read: Read) -> tuple[Floats, Floats]:
        """Return (texts x codes: rows that sum to one; share of each text's features known)."""
        ...

    def words_known(self, texts: tuple[str, ...]) -> Floats:
        """Return how much of each text's words is known, which chance hardly adds to."""
        ...


@dataclass(frozen=True, slots=True)
class Scorer:
    """What one network learned of one system.

    Attributes:
        encoder: makes vectors of texts.
        codes: the codes it can give.
        directions: codes x dimensions.
        prior: what speaks for each code before anything is read.
        memory: what the texts of each code looked like, if that is kept.
    """

    encoder: Encoder
    codes: Texts
    directions: Floats
    prior: Floats
    memory: Memory | None = None

    def shares(self, read: Read) -> tuple[Floats, Floats]:
        """Return the codes' shares; see `Scores`."""
        hidden, known = read(self.encoder)
        shares = softmax(products(hidden, self.directions) + self.prior)
        if self.memory is not None:
            shares *= 1 - FROM_MEMORY
            shares += FROM_MEMORY * self.memory.shares(hidden, len(self.codes))
        return shares, known

    def words_known(self, texts: tuple[str, ...]) -> Floats:
        """Return how much of the texts' words the encoder knows; see `Scores`."""
        return words_known(self.encoder, texts)


@dataclass(frozen=True, slots=True)
class Blend:
    """The mean of a history's scores and those of the shipped model.

    Attributes:
        own: of the history.
        other: of the shipped model.
        weight: of the history, from 0 to 1, where it is familiar with a text; else less.
        codes: of both.
        places: the places of the other model's codes among them; its own come first.
    """

    own: Scorer
    other: Scores
    weight: float
    codes: Texts
    places: Ints

    def shares(self, read: Read) -> tuple[Floats, Floats]:
        """Return the codes' shares; a feature counts as known if either knows more of the text."""
        own, known = self.own.shares(read)
        other, known_to_other = self.other.shares(read)
        weight = (self.weight * familiarity(known))[:, None].astype(np.float32)
        shares = np.zeros((len(own), len(self.codes)), np.float32)
        shares[:, : own.shape[1]] = weight * own
        shares[:, self.places] += (1 - weight) * other
        return shares, np.maximum(known, known_to_other)

    def words_known(self, texts: tuple[str, ...]) -> Floats:
        """Return how much of the texts' words the side knows that knows more; see `Scores`."""
        return np.maximum(self.own.words_known(texts), self.other.words_known(texts))


def familiarity(known: Floats) -> Floats:
    """Return how far texts are trusted of whose features a share is known, from 0 to 1."""
    trusted: Floats = np.clip((known - STRANGE) / (FAMILIAR - STRANGE), 0, 1)
    return trusted


def blend(own: Scorer, other: Scores, weight: float) -> Blend:
    """Return the scores of both together."""
    codes = np.concatenate([own.codes, other.codes[~np.isin(other.codes, own.codes)]])
    return Blend(own, other, weight, codes, places(codes, other.codes))


def places(codes: Texts, wanted: Texts) -> Ints:
    """Return the places of some codes among others, -1 for a code that is missing."""
    place = {code: number for number, code in enumerate(codes.tolist())}
    return np.array([place.get(code, -1) for code in wanted.tolist()], np.intp)
