"""Trains rerankers on the best codes of texts that the network has not learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats, Ints, Texts
from pipeline.engine.model.general_codes import is_general
from pipeline.engine.model.products import softmax
from pipeline.engine.model.reranker import Candidates, Judge, Lister, Reranker
from pipeline.engine.model.scorer import Blend, Scorer
from pipeline.engine.training.examples import Examples, reading
from pipeline.engine.training.task import Task
from pipeline.engine.training.word_index import build

__all__ = ["Fold", "fit", "folds", "rerankers", "with_judge"]

UNITS = 16
"""Hidden units of a network. Without any, the reranker gains half as much."""

NETWORKS = 4
EPOCHS = 10
BATCH = 256
RATE = 0.01
SHRINKAGE = 1e-3

MOST_OF_A_SOURCE = 1_000
"""A source with more texts weighs no more than this many."""

FEWEST = 60
"""Texts of a source that is a fold by itself; smaller ones share a fold. From fewer texts, no
reranker is learned."""

LEAST_SPREAD = 1e-6
"""A trait with a smaller standard deviation is constant."""

TINY = 1e-12

PARTS = 4
"""Folds into which a fold with most of the texts is divided."""

Fold: TypeAlias = tuple[Bools, Reranker | None]
"""Which of the held-out examples are in a fold, and a reranker that did not learn from them, unless
the others are too few."""


@dataclass(slots=True)
class _Adam:
    """An array that is updated by Adam (Kingma and Ba, 2015)."""

    values: Floats
    mean: Floats
    square: Floats
    steps: int = 0

    @classmethod
    def of(cls, values: Floats) -> _Adam:
        return cls(values, np.zeros_like(values), np.zeros_like(values))

    def step(self, gradient: Floats, rate: float) -> None:
        gradient = gradient + SHRINKAGE * self.values
        self.steps += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient * gradient
        mean = self.mean / (1 - 0.9**self.steps)
        square = self.square / (1 - 0.999**self.steps)
        self.values = self.values - rate * mean / (np.sqrt(square) + 1e-8)


def rerankers(task: Task, scores: Scorer | Blend) -> tuple[Reranker | None, Sequence[Fold]]:
    """Return a reranker, and for each fold one that did not learn from it.

    Args:
        task: the training data; its held-out examples train the reranker. Without their sources,
            or with few of them, there is no reranker and one fold.
        scores: a scorer that was trained without the held-out examples.
    """
    held_back = task.held_back
    without: Fold = (np.ones(len(held_back), np.bool_), None)
    if (sources := task.sources) is None:
        return None, [without]
    lister = _lister(task, task.taught, scores)
    found = _candidates(held_back, scores, lister)
    right = _right(scores.codes[found.places], held_back.codes, _general(task, held_back))
    rows: Bools = np.array(right.any(axis=1))
    weights = _weights(sources)

    def learned(some: Bools) -> Reranker | None:
        if some.sum() < FEWEST:
            return None
        return Reranker(lister, fit(found.traits[some], right[some], weights[some]))

    if (whole := learned(rows)) is None:
        return None, [without]
    return whole, [(fold, learned(rows & ~fold)) for fold in folds(sources)]


def with_judge(task: Task, scores: Scorer | Blend, tried: Reranker) -> Reranker:
    """Return the reranker of the finished model, with the judge of the one that was tried."""
    return Reranker(_lister(task, task.examples(whole=True), scores), tried.judge)


def folds(sources: Ints) -> list[Bools]:
    """Return the folds of examples: their sources, small ones together, a dominant one in parts."""
    counts = np.bincount(sources)
    fold = np.where(counts[sources] >= FEWEST, sources, len(counts))
    largest = np.bincount(fold).argmax()
    if (fold == largest).sum() > len(sources) / 2:
        parts = np.random.default_rng(0).integers(1, PARTS + 1, len(sources)) + len(counts)
        fold = np.where(fold == largest, parts, fold)
    return [fold == each for each in np.unique(fold)]


def fit(traits: Floats, right: Bools, weights: Floats) -> Judge:
    """Train networks to put the right candidate first, and return them as one.

    The loss is the cross-entropy of a softmax over the candidates of a text.

    Args:
        traits: texts x candidates x traits.
        right: texts x candidates: those that may be right, at least one per text.
        weights: how much each text counts.
    """
    centre = traits.mean(axis=(0, 1), dtype=np.float64)
    scale = traits.std(axis=(0, 1), dtype=np.float64)
    scale[scale < LEAST_SPREAD] = 1  # a constant teaches nothing, so its weights stay random
    standard = (traits - centre) / scale
    found = [_fitted(standard, right, weights, seed) for seed in range(NETWORKS)]
    linear, inner, bias, outer = (
        np.mean([each[0] for each in found], axis=0),
        np.concatenate([each[1] for each in found], axis=1),
        np.concatenate([each[2] for each in found]),
        np.concatenate([each[3] for each in found]) / NETWORKS,
    )
    # The judge gets traits that are not standardised, so its weights do that.
    return Judge(
        (linear / scale).astype(np.float32),
        (inner / scale[:, None]).astype(np.float32),
        (bias - (centre / scale) @ inner).astype(np.float32),
        outer.astype(np.float32),
    )


def _fitted(
    traits: Floats, right: Bools, weights: Floats, seed: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the linear weights, and the weights, biases and outer weights of the hidden units."""
    random = np.random.default_rng(seed)
    width = traits.shape[2]
    linear, outer, bias = (
        _Adam.of(np.zeros(width)),
        _Adam.of(np.zeros(UNITS)),
        _Adam.of(np.zeros(UNITS)),
    )
    inner = _Adam.of(random.normal(0, width**-0.5, (width, UNITS)))
    for epoch in range(EPOCHS):
        order = random.permutation(len(traits))
        rate = RATE * (1 - epoch / EPOCHS)
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            some = traits[rows]
            hidden = np.tanh(some @ inner.values + bias.values)
            error = softmax(some @ linear.values + hidden @ outer.values)
            likely = error * right[rows]
            error -= likely / np.maximum(likely.sum(axis=1, keepdims=True), TINY)
            error *= weights[rows, None] / len(rows)
            back = error[:, :, None] * outer.values * (1 - hidden * hidden)
            linear.step(np.einsum("nk,nkf->f", error, some), rate)
            outer.step(np.einsum("nk,nkh->h", error, hidden), rate)
            inner.step(np.tensordot(some, back, ((0, 1), (0, 1))), rate)
            bias.step(back.sum(axis=(0, 1)), rate)
    return linear.values, inner.values, bias.values, outer.values


def _lister(task: Task, examples: Examples, scores: Scorer | Blend) -> Lister:
    own = scores.own if isinstance(scores, Blend) else scores
    specific = examples.where(~_general(task, examples))
    words = build(own.encoder.vocabulary, own.codes, specific, task.phrases)
    return Lister.of(words, scores.codes, own.prior)


def _candidates(examples: Examples, scores: Scorer | Blend, lister: Lister) -> Candidates:
    encoder = scores.own.encoder if isinstance(scores, Blend) else scores.encoder
    found = []
    for each in examples.portions():
        read = reading(each)
        shares, _ = scores.shares(read)
        found.append(lister.candidates(shares, read(encoder)))
    return Candidates(
        np.concatenate([each.places for each in found]),
        np.concatenate([each.shares for each in found]),
        np.concatenate([each.traits for each in found]),
    )


def _right(candidates: Texts, truth: Texts, general: Bools) -> Bools:
    """Return which candidates are right; for a general label, all of its field.

    Without the texts of general labels, the first UNSPSC code of held-out texts is exact for .378
    instead of .374, and right as far as stated for .392 instead of .405.
    """
    in_field = candidates.astype("U2") == truth.astype("U2")[:, None]
    right: Bools = np.where(general[:, None], in_field, candidates == truth[:, None])
    return right


def _general(task: Task, examples: Examples) -> Bools:
    """Return which labels name a whole field."""
    return np.array([is_general(task.system, code) for code in examples.codes.tolist()], np.bool_)


def _weights(sources: Ints) -> Floats:
    weights: Floats = np.minimum(1, MOST_OF_A_SOURCE / np.bincount(sources)[sources])
    return weights
