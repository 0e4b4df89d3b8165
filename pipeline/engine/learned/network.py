"""Learns a low-rank softmax: texts become short dense vectors, codes are directions among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pipeline.engine.learned.arrays import Floats, Ints

__all__ = ["Lesson", "Network", "Settings", "fit", "softmax"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """Labelled texts.

    Attributes:
        vectors: texts x features, rows of unit length.
        labels: the place of each text's code.
        weights: how much each text counts.
        shares: how likely a text takes part in an epoch (it then counts for those that did not).
        tree: codes x traits.
    """

    vectors: sparse.csr_matrix
    labels: Ints
    weights: Floats
    shares: Floats
    tree: sparse.csr_matrix


@dataclass(frozen=True, slots=True)
class Settings:
    """How to learn; rates fall to nothing towards the end."""

    dimensions: int = 128
    epochs: int = 4
    batch: int = 512
    feature_rate: float = 0.3
    trait_rate: float = 0.05
    dropout: float = 0.3
    shrinkage: float = 0.01
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Network:
    """What was learned.

    Attributes:
        features: features x dimensions.
        directions: codes x dimensions.
        prior: what speaks for each code before anything is read.
    """

    features: Floats
    directions: Floats
    prior: Floats


class _Adagrad:
    """Rows of weights, each with its own falling rate."""

    def __init__(self, weights: Floats, by_row: bool) -> None:
        self.weights = weights
        self._by_row = by_row
        self._squares = np.full(len(weights) if by_row else weights.shape, 1e-6, np.float32)

    def step(self, rows: Ints | slice, gradient: Floats, rate: float) -> None:
        """Move some rows against their gradient."""
        if self._by_row:
            self._squares[rows] += np.einsum("ij,ij->i", gradient, gradient) / gradient.shape[1]
            scale = (rate / np.sqrt(self._squares[rows]))[:, None]
        else:
            self._squares[rows] += gradient * gradient
            scale = rate / np.sqrt(self._squares[rows])
        self.weights[rows] -= gradient * scale


def softmax(scores: Floats) -> Floats:
    """Return the rows as shares of one, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def fit(lesson: Lesson, settings: Settings, advance: Callable[[int], None]) -> Network:
    """Learn by stochastic gradients (Adagrad).

    Args:
        lesson: what to learn.
        settings: how to learn it.
        advance: told how many more texts were read.
    """
    random = np.random.default_rng(settings.seed)
    shape = (lesson.vectors.shape[1], settings.dimensions)
    start = random.standard_normal(shape, dtype=np.float32) * np.float32(0.1)
    features = _Adagrad(start, by_row=True)
    nothing = np.zeros((lesson.tree.shape[1], settings.dimensions), np.float32)
    traits = _Adagrad(nothing, by_row=False)
    prior = _prior(lesson)
    steps = settings.epochs * (lesson.shares.sum() / settings.batch + 1)
    done = 0
    for _ in range(settings.epochs):
        for rows in _batches(lesson, settings.batch, random):
            _learn(lesson, rows, (features, traits), prior, settings, 1 - done / steps, random)
            done += 1
            advance(len(rows))
    return Network(features.weights, lesson.tree @ traits.weights, prior)


def _learn(
    lesson: Lesson,
    rows: Ints,
    weights: tuple[_Adagrad, _Adagrad],
    prior: Floats,
    settings: Settings,
    left: float,
    random: np.random.Generator,
) -> None:
    """Take one step on some texts; ``left`` is the share of the way that is still to go."""
    features, traits = weights
    rate = max(0.0, left)
    vectors, used = _compact(_thinned(lesson.vectors[rows], settings.dropout, random))
    known = features.weights[used]
    directions = lesson.tree @ traits.weights
    hidden = vectors @ known
    error = softmax(hidden @ directions.T + prior)
    error[np.arange(len(rows)), lesson.labels[rows]] -= 1
    error *= (lesson.weights[rows] / lesson.shares[rows])[:, None].astype(np.float32)
    back = error @ directions
    traits.step(slice(None), lesson.tree.T @ (error.T @ hidden), rate * settings.trait_rate)
    gradient = vectors.T.tocsr() @ back + settings.shrinkage * known
    features.step(used, gradient, rate * settings.feature_rate)


def _prior(lesson: Lesson) -> Floats:
    """Return the log of how often each code is given; one never seen counts as a 20th of a text."""
    codes = lesson.tree.shape[0]
    seen = np.bincount(lesson.labels, lesson.weights, codes) + 0.05
    prior: Floats = np.log(seen / seen.sum()).astype(np.float32)
    return prior


def _batches(lesson: Lesson, size: int, random: np.random.Generator) -> Iterator[Ints]:
    taking_part = np.flatnonzero(random.random(len(lesson.labels)) < lesson.shares)
    order = random.permutation(taking_part)
    for at in range(0, len(order), size):
        yield order[at : at + size]


def _thinned(
    vectors: sparse.csr_matrix, dropout: float, random: np.random.Generator
) -> sparse.csr_matrix:
    kept = random.random(vectors.nnz, dtype=np.float32) >= dropout
    ends = np.concatenate([[0], np.cumsum(kept)])[vectors.indptr]
    return sparse.csr_matrix((vectors.data[kept], vectors.indices[kept], ends), vectors.shape)


def _compact(vectors: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Ints]:
    """Return (texts x features that occur, which those are)."""
    used, local = np.unique(vectors.indices, return_inverse=True)
    shape = (vectors.shape[0], len(used))
    return sparse.csr_matrix((vectors.data, local, vectors.indptr), shape), used
