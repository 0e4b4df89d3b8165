"""A learned model of one system: answers batches of texts with codes and confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.engine.learned.arrays import Bools, Floats, Ints, Texts
from pipeline.engine.learned.calibrate import Calibration, evidence
from pipeline.engine.learned.features import Counts, count
from pipeline.engine.learned.memory import Memory
from pipeline.engine.learned.network import Network, softmax
from pipeline.engine.learned.nibbles import pack, unpack
from pipeline.engine.learned.repeats import Repeats, hashes
from pipeline.engine.learned.vocabulary import Vocabulary

__all__ = ["Model", "build"]

FROM_MEMORY = 0.3
"""Share of the memory in the answer; the rest is the network's."""

FAMILIAR = 0.5
"""A text of which less than this share of the features is known is trusted less, down to nothing:
confidence 0 means no match. No labelled row shows this, so it is a rule and not measured."""

AT_ONCE = 256
"""Texts scored in one matrix; bounds the memory."""


@dataclass(frozen=True, slots=True)
class Model:
    """Everything that answers for a system.

    Attributes:
        system: whose codes it gives.
        codes: the codes it can give.
        exampled: which of them an example named; the others it knows by their titles only.
        only_history: whether nothing but the examples was learned from.
        vocabulary: the features it knows.
        packed: the network's features in four bits; see `nibbles`.
        scales: the scale of each of them.
        directions: codes x dimensions.
        prior: what speaks for each code before anything is read.
        memory: what the texts of each code looked like.
        repeats: the examples' texts, to know them again.
        calibration: None while the model is being made.
        unseen: how often a held-back example had a code that no other example named.
    """

    system: System
    codes: Texts
    exampled: Bools
    only_history: bool
    vocabulary: Vocabulary
    packed: Ints
    scales: Floats
    directions: Floats
    prior: Floats
    memory: Memory
    repeats: Repeats
    calibration: Calibration | None = None
    unseen: float = 0.0

    def hidden(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return (texts x dimensions, share of each text's features that is known)."""
        vectors, known = self.vocabulary.vectors(counts)
        used, local = np.unique(vectors.indices, return_inverse=True)
        weights = unpack(self.packed[used], self.scales[used], self.directions.shape[1])
        shape = (len(known), len(used))
        return sparse.csr_matrix((vectors.data, local, vectors.indptr), shape) @ weights, known

    def shares(self, counts: Counts) -> tuple[Floats, Floats]:
        """Return (texts x codes, rows that sum to one; share of each text's features known)."""
        hidden, known = self.hidden(counts)
        shares = softmax(hidden @ self.directions.T + self.prior)
        shares *= 1 - FROM_MEMORY
        shares += FROM_MEMORY * self.memory.shares(hidden, len(self.codes))
        return shares, known

    def predict(self, texts: Sequence[str], top: int) -> tuple[Ints, Floats]:
        """Return (texts x places of the top codes, best first; their confidence)."""
        width = min(top, len(self.codes))
        places = np.empty((len(texts), width), np.intp)
        confidence = np.empty((len(texts), width))
        for at in range(0, len(texts), AT_ONCE):
            part = slice(at, at + AT_ONCE)
            seen = hashes(texts[part])
            places[part], confidence[part] = self.ranked(count(texts[part]), seen, width)
        return places, confidence

    def ranked(self, counts: Counts, seen: Ints, top: int) -> tuple[Ints, Floats]:
        """Rank the codes of texts that were counted and hashed already; see `predict`."""
        shares, known = self.shares(counts)
        places, best = _best(shares, max(top, 2))
        if self.calibration is not None:
            second = best[:, 1] if best.shape[1] > 1 else np.zeros(len(best))
            first = self.calibration.confidence(evidence(best[:, 0], second, known))
            first *= np.minimum(1, known / FAMILIAR)
            best = best * (first / best[:, 0])[:, None]
        self._put_repeats_first(places, best, seen)
        return places[:, :top], best[:, :top]

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


def _best(shares: Floats, count: int) -> tuple[Ints, Floats]:
    """Return (where each row's highest shares stand, those shares), of equals the first."""
    count = min(count, shares.shape[1])
    some = np.sort(np.argpartition(-shares, count - 1, axis=1)[:, :count], axis=1)
    best = np.take_along_axis(shares, some, axis=1).astype(np.float64)
    order = np.argsort(-best, axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1), np.take_along_axis(best, order, axis=1)


def build(
    about: tuple[System, Texts, Bools, bool],
    vocabulary: Vocabulary,
    network: Network,
    memory: Memory,
    repeats: Repeats,
) -> Model:
    """Return the model of a network, quantised, not calibrated yet.

    Args:
        about: the system, its codes, which have examples, whether examples are all there is.
        vocabulary: the features of the network.
        network: what was learned.
        memory: what the texts of each code looked like.
        repeats: the examples' texts.
    """
    packed, scales = pack(network.features)
    return Model(
        *about, vocabulary, packed, scales, network.directions, network.prior, memory, repeats
    )
