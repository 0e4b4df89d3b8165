"""A trained model of one system: predicts codes and confidences for batches of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np

from pipeline.answers import System
from pipeline.engine.model.acceptance import Acceptance, Calibration, evidence
from pipeline.engine.model.encoder import (
    Blend,
    EncodedBatch,
    Scorer,
    Scores,
    encode_batch,
    familiarity,
)
from pipeline.engine.model.features import Composition
from pipeline.engine.model.matrices import Bools, Floats, Ints, Texts, find, highest


@dataclass(frozen=True, slots=True)
class Repeats:
    """The texts of a history, stored only as hashes.

    Attributes:
        hashes: hashes of the normalised texts, ascending, uint64.
        labels: the index of each text's usual code.
        usual: how often each text had that code.
        seen: how often each text occurs in the history.
        trust: how often held-out texts that also occur in the rest had their usual code.
    """

    hashes: Ints
    labels: Ints
    usual: Ints
    seen: Ints
    trust: float = 0.5

    def find(self, hashes: Ints) -> tuple[Bools, Ints, Floats]:
        """Return (which texts are in the history, indices of their codes, confidence in them)."""
        if not len(self.hashes):
            nothing = np.zeros(len(hashes), np.intp)
            return nothing.astype(np.bool_), nothing, nothing.astype(np.float64)
        is_repeat, index = find(self.hashes, hashes)
        sure = (self.usual[index] - 1 + 2 * self.trust) / (self.seen[index] + 1)
        return is_repeat, self.labels[index].astype(np.intp), sure


def normal(text: str) -> str:
    """Return a text without case and differences in white space."""
    return " ".join(text.casefold().split())


def hashes(texts: Sequence[str]) -> Ints:
    """Return a 64-bit hash of each text as `normal` writes it."""
    plain = (normal(text).encode("utf-8", "replace") for text in texts)
    digests = [int.from_bytes(blake2b(text, digest_size=8).digest()) for text in plain]
    return np.array(digests, np.uint64)


def gather(hashes: Ints, labels: Ints) -> Repeats:
    """Return the most frequent code of each text; the first code wins a tie."""
    pairs = np.stack([hashes, labels.astype(np.uint64)], axis=1)
    pairs, times = np.unique(pairs, axis=0, return_counts=True)  # in the order of both
    best = np.lexsort((-times, pairs[:, 0]))
    texts, first, seen_as = np.unique(pairs[best, 0], return_index=True, return_inverse=True)
    seen = np.bincount(seen_as, times[best], len(texts)).astype(np.int64)
    chosen = best[first]
    return Repeats(texts, pairs[chosen, 1].astype(np.int64), times[chosen], seen)


WITH_FIELDS = ("cpv", "unspsc")

EVIDENCE = 0.01
"""A general code stays first if every code below it has less than this fraction of its share."""
LEAST = 1e-3
"""General codes with a smaller share are left unchanged: they never come first in an answer."""

Field = tuple[int, Ints]
"""The index of a general code, and the indices of all codes below it."""


def is_general(system: System, code: str) -> bool:
    """Return whether a code names a whole field."""
    return system in WITH_FIELDS and code.endswith("000000")


def fields(system: System, codes: Texts) -> tuple[Field, ...]:
    """Return the fields for which the codes include the general code and any code below it."""
    general = np.array([is_general(system, code) for code in codes.tolist()], np.bool_)
    field = codes.astype("U2")
    fields_found = (
        (index, np.flatnonzero((field == field[index]) & ~general))
        for index in np.flatnonzero(general).tolist()
    )
    return tuple((index, below) for index, below in fields_found if len(below))


def made_specific(shares: Floats, general_fields: Sequence[Field]) -> Floats:
    """Pass the shares of general codes on to the codes below them, in place.

    A general code that would rank above all codes below it keeps only the highest of their shares.
    The rest goes to the codes below, in proportion to their shares.

    Args:
        shares: texts x codes.
        general_fields: the fields among the codes.
    """
    # All fields are looked at together: for most, no text has a share worth passing on.
    likely = shares[:, [own for own, _ in general_fields]] >= LEAST
    for number in np.flatnonzero(likely.any(axis=0)).tolist():
        own, below = general_fields[number]
        rows = np.flatnonzero(likely[:, number])
        parts = shares[np.ix_(rows, below)]
        best, general = parts.max(axis=1), shares[rows, own]
        lower = (best < general) & (best >= EVIDENCE * general)
        rows, parts, best, general = rows[lower], parts[lower], best[lower], general[lower]
        growth = 1 + (general - best) / parts.sum(axis=1)
        shares[np.ix_(rows, below)] = parts * growth[:, None]
        shares[rows, own] = best
    return shares


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model of one system.

    Attributes:
        system: the system whose codes the model predicts.
        scores: scores each code.
        repeats: hashes of the training texts, to recognise exact repeats.
        only_history: whether the model was trained on the examples alone.
        calibration: None during training.
        acceptance: says how likely an expert accepts the best codes, which is then their
            confidence; None in a model whose confidence is that of the code which a history gives.
    """

    system: System
    scores: Scores
    repeats: Repeats
    only_history: bool
    calibration: Calibration | None = None
    acceptance: Acceptance | None = None

    @property
    def codes(self) -> Texts:
        """The codes that the model can predict."""
        return self.scores.codes

    @property
    def own(self) -> Scorer:
        """Its own scorer, without the shipped model that it is blended with."""
        return self.scores.own if isinstance(self.scores, Blend) else self.scores

    @property
    def weight(self) -> float:
        """The weight of its scores in a blend with another model's; 1 without a blend."""
        return self.scores.weight if isinstance(self.scores, Blend) else 1.0

    def predict(self, texts: Sequence[str], top: int) -> tuple[Ints, Floats]:
        """Return (texts x indices of the top codes, best first; their confidences).

        The texts are few enough to be scored in one matrix, as `portions` makes them.
        """
        batch, seen = encode_batch(tuple(texts)), self._hashed(texts)
        indices, confidence = self.ranked(batch, seen, min(top, len(self.codes)))
        is_repeat, _, _ = self.repeats.find(seen)
        confidence[~is_repeat & ~self.scores.enough_words_known(batch)] = 0
        return indices, confidence

    def shares(self, batch: EncodedBatch) -> tuple[Floats, Floats]:
        """Return the codes' shares, with those of general codes passed on; see `Scorer.shares`."""
        shares, known = batch.cached(self.scores.shares)  # others read those of the general model
        return made_specific(shares.copy(), self._fields), known

    def listed(self, batch: EncodedBatch) -> tuple[Floats, Floats]:
        """Return the shares by which the codes to judge are listed; see `shares`.

        An item below a heading counts as much as its whole text, here and in `Evidence.traits`. Of
        988 judged texts with an item, 79 are from one table of hardware, whose heading would decide
        everywhere: with the words of the item in titles as well, .17 instead of .06 of all CPV
        codes reach the confidence from which 85 in 100 are accepted.
        """
        shares, known = self.shares(batch)
        rows, items = batch.items
        if len(rows):
            shares[rows] = (shares[rows] + self.shares(items)[0]) / 2
        return shares, known

    def ranked(self, batch: EncodedBatch, seen: Ints, top: int) -> tuple[Ints, Floats]:
        """Rank the codes of texts that are already encoded and hashed; see `predict`.

        In training, which does not keep the texts, no codes are judged.
        """
        if self.acceptance is not None and batch.texts:
            indices, best = self._judged(self.acceptance, batch, top)
            return indices[:, :top], best[:, :top]
        shares, known = self.shares(batch)
        indices, best = highest(shares, max(top, 2))
        if self.calibration is not None:
            second = best[:, 1] if best.shape[1] > 1 else np.zeros(len(best))
            first = self.calibration.confidence(evidence(best[:, 0], second, known))
            first *= familiarity(known)  # no known features: confidence 0, which means no match
            best = np.column_stack([first, self.calibration.others(best, first)])
        self._put_repeats_first(indices, best, seen)
        return indices[:, :top], best[:, :top]

    def _judged(self, acceptance: Acceptance, batch: EncodedBatch, top: int) -> tuple[Ints, Floats]:
        """Rank the best codes by how likely they are accepted, and the others after them."""
        shares, known = self.listed(batch)
        indices, chances = acceptance.judged(shares, batch, self.own_words(batch))
        chances *= familiarity(known)[:, None]
        if top <= indices.shape[1]:
            return indices, chances
        remaining = shares.copy()
        np.put_along_axis(remaining, indices, -1, axis=1)
        other_places, others = highest(remaining, top - indices.shape[1])
        others = np.clip(others, 0, chances[:, -1:])
        return np.hstack([indices, other_places]), np.hstack([chances, others])

    def own_words(self, batch: EncodedBatch) -> Composition:
        """Return the texts by the model's own encoder, which knows the words of its examples."""
        return batch.cached(self.own.encoder.encode).composition

    @cached_property
    def _fields(self) -> Sequence[Field]:
        """The fields of the codes."""
        return fields(self.system, self.codes)

    def learned(self, texts: Sequence[str]) -> int:
        """Return how many of some texts the model was trained on; the shipped ones never know."""
        known, _, _ = self.repeats.find(hashes(texts))
        return int(known.sum())

    def _hashed(self, texts: Sequence[str]) -> Ints:
        """Return the texts' hashes; a model without texts, as the shipped ones, needs none."""
        known = len(self.repeats.hashes)
        return hashes(texts) if known else np.zeros(len(texts), np.uint64)

    def _put_repeats_first(self, indices: Ints, confidence: Floats, seen: Ints) -> None:
        """Put the usual code of each text that was seen in training first."""
        is_repeat, labels, sure = self.repeats.find(seen)
        for row in np.flatnonzero(is_repeat):
            others = indices[row] != labels[row]
            rest = indices[row][others][: indices.shape[1] - 1]
            confidences = np.minimum(confidence[row][others][: len(rest)], 1 - sure[row])
            indices[row] = [labels[row], *rest]
            # Each other confidence is at most 1 minus the first, and at most the first.
            confidence[row] = [sure[row], *np.minimum(confidences, sure[row])]
