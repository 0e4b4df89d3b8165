"""Reorders the best codes of a text, by more evidence than the network has."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints, Texts
from pipeline.engine.model.encoder import Encoded
from pipeline.engine.model.largest import largest
from pipeline.engine.model.products import softmax
from pipeline.engine.model.word_index import WordIndex

__all__ = ["CANDIDATES", "TRAITS", "Judge", "Lister", "Lists", "Reranker"]

CANDIDATES = 20
"""How many of the best codes are reordered: the right one is among 20 for 62 to 86 % of texts."""

PREFIXES = (2, 3, 4, 6)
"""Lengths of the code beginnings whose candidates are counted together."""

TRAITS = 14 + len(PREFIXES)
"""How many numbers describe a candidate."""

TINY = 1e-6
SELDOM = 1e-4
"""Added to shares before their logarithm."""


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """The candidates of some texts.

    Attributes:
        places: texts x candidates, the indices of the codes, best first.
        shares: their shares.
        traits: texts x candidates x `TRAITS`.
    """

    places: Ints
    shares: Floats
    traits: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """A small neural network that scores a candidate by its traits.

    Attributes:
        centre: the mean of each trait.
        scale: its standard deviation.
        linear: the weight of each trait.
        inner: traits x units, the weights of the hidden layer.
        bias: its biases.
        outer: the weight of each unit.
    """

    centre: Floats
    scale: Floats
    linear: Floats
    inner: Floats
    bias: Floats
    outer: Floats

    def scores(self, traits: Floats) -> Floats:
        """Return texts x candidates.

        Each text is multiplied by itself: in one product of all texts, BLAS would round the scores
        of a text differently from batch to batch.
        """
        standard = (traits - self.centre) / self.scale
        hidden = np.tanh(np.matmul(standard, self.inner) + self.bias)
        scores: Floats = np.einsum("nkf,f->nk", standard, self.linear)
        scores += np.einsum("nkh,h->nk", hidden, self.outer)
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class Lister:
    """Lists the best codes of texts, with what is known of each.

    Attributes:
        words: what the words of a text say of the codes.
        codes: all codes.
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
        cut = [np.unique(self.codes.astype(f"U{n}"), return_inverse=True)[1] for n in PREFIXES]
        object.__setattr__(self, "depths", np.char.str_len(np.char.rstrip(self.codes, "0")))
        object.__setattr__(self, "beginnings", np.stack(cut, axis=1))

    def lists(self, shares: Floats, remembered: Floats | None, encoded: Encoded) -> Lists:
        """Return the best codes of each text and their traits.

        Args:
            shares: texts x codes.
            remembered: texts x codes, the shares among the prototypes, if there are any.
            encoded: the texts.
        """
        places, best = _best(shares, min(CANDIDATES, len(self.codes)))
        log = np.log(best + TINY)
        near = 0.0 if remembered is None else np.take_along_axis(remembered, places, axis=1)
        measured = self.words.measured(encoded.features, places)
        ratio = measured[:, :, 0]
        of_text = (encoded.known, np.log1p(np.diff(encoded.features.ends)), log[:, 0])
        single = (
            log,
            log - log[:, :1],
            np.log(near + SELDOM),
            np.log1p(np.arange(places.shape[1])),
            self.prior[places],
            self.depths[places],
            ratio - ratio.max(axis=1, keepdims=True),
            *(each[:, None] for each in of_text),
        )
        one_by_one = np.stack([np.broadcast_to(each, places.shape) for each in single], axis=2)
        together = self._together(places, best)
        return Lists(places, best, np.concatenate([one_by_one, measured, together], axis=2))

    def _together(self, places: Ints, shares: Floats) -> Floats:
        """Return the log share of the candidates that begin like each one, for each length."""
        found = []
        for beginning in self.beginnings.T:
            own = beginning[places]
            alike = own[:, :, None] == own[:, None, :]
            found.append(np.einsum("nij,nj->ni", alike, shares))
        return np.log(np.stack(found, axis=2) + TINY)


@dataclass(frozen=True, slots=True, eq=False)
class Reranker:
    """Reorders the best codes of one system.

    Attributes:
        lister: lists them.
        judge: scores them.
    """

    lister: Lister
    judge: Judge

    def rerank(self, shares: Floats, remembered: Floats | None, encoded: Encoded) -> None:
        """Divide the candidates' shares among them by their scores, in place; see `Lister`."""
        lists = self.lister.lists(shares, remembered, encoded)
        odds = softmax(self.judge.scores(lists.traits))
        odds *= lists.shares.sum(axis=1, keepdims=True)
        np.put_along_axis(shares, lists.places, odds.astype(np.float32), axis=1)


def _best(shares: Floats, count: int) -> tuple[Ints, Floats]:
    """Return (the indices of each row's highest shares, those shares)."""
    row, place, values = largest(shares, count)
    first = np.searchsorted(row, np.arange(len(shares)))[:, None] + np.arange(count)
    return place[first], values[first].astype(np.float64)
