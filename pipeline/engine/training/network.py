"""Trains low-rank softmax classifiers: dense text vectors, and a direction for each code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.codes.table import cut, stem
from pipeline.engine.model.matrices import Bools, Floats, Ints, softmax
from pipeline.engine.model.model import Field

TINY = 1e-30
"""Avoids division by zero when the probabilities of all codes of a field underflow."""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """Labelled texts of one system.

    Attributes:
        vectors: texts x features, rows of unit length.
        labels: the index of each text's code.
        weights: how much each text counts.
        shares: the probability that an epoch samples a text; its weight is divided by this.
        tree: the traits of each code, codes x traits.
        fields: the general codes, and the codes below them.
        partial: which texts have a general label that may mean any code of its field.
        prior: the log prior of each code; see `prior`.
    """

    vectors: sparse.csr_matrix
    labels: Ints
    weights: Floats
    shares: Floats
    tree: sparse.csr_matrix
    fields: Sequence[Field]
    partial: Bools
    prior: Floats


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Hyperparameters of one network; learning rates decay linearly to zero.

    After training, scores are scaled by (1 - dropout) to the power of ``softness``, because
    training saw only the features that dropout left, and inference uses all. A softness of 1/2
    would preserve the length of the text vectors, and 1 the mean score.
    """

    dimensions: int = 128
    epochs: int = 4
    batch: int = 512
    feature_rate: float = 0.3
    trait_rate: float = 0.05
    dropout: float = 0.3
    shrinkage: float = 0.01
    softness: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """The output layer of one system.

    Attributes:
        directions: weights, codes x dimensions.
        prior: the log prior of each code.
    """

    directions: Floats
    prior: Floats


@dataclass(frozen=True, slots=True)
class Network:
    """A trained network: shared features, and one head per system.

    Attributes:
        features: weights, features x dimensions.
        heads: the output layer of each system.
    """

    features: Floats
    heads: tuple[Head, ...]


class _Adagrad:
    """Weights with adaptive learning rates, one per row or one per weight."""

    def __init__(self, weights: Floats, by_row: bool) -> None:
        self.weights = weights
        self._by_row = by_row
        self._squares = np.full(len(weights) if by_row else weights.shape, 1e-6, np.float32)

    def step(self, rows: Ints | slice, gradient: Floats, rate: float) -> None:
        """Update some rows by gradient descent; overwrites the gradient."""
        if self._by_row:
            self._squares[rows] += np.einsum("ij,ij->i", gradient, gradient) / gradient.shape[1]
            gradient *= (rate / np.sqrt(self._squares[rows]))[:, None]
        else:
            self._squares[rows] += gradient * gradient
            gradient /= np.sqrt(self._squares[rows])
            gradient *= rate
        self.weights[rows] -= gradient


def fit(
    sets: Sequence[TrainingSet], settings: NetworkSettings, advance: Callable[[int], None]
) -> Network:
    """Train a network by stochastic gradient descent (Adagrad).

    The sets of all systems have the same features and share the weights of these. ``advance`` gets
    the number of texts read since its last call.
    """
    random = np.random.default_rng(settings.seed)
    shape = (sets[0].vectors.shape[1], settings.dimensions)
    start = random.standard_normal(shape, dtype=np.float32) * np.float32(0.1)
    features = _Adagrad(start, by_row=True)
    learners = [_Learner(data, features, settings) for data in sets]
    steps = settings.epochs * sum(each.shares.sum() / settings.batch + 1 for each in sets)
    done = 0
    for _ in range(settings.epochs):
        for learner, rows in _batches(learners, settings.batch, random):
            learner.step(rows, max(0.0, 1 - done / steps), random)
            done += 1
            advance(len(rows))
    return Network(features.weights, tuple(learner.head() for learner in learners))


class _Learner:
    """Trains the head of one system and the features that all systems share."""

    def __init__(self, data: TrainingSet, features: _Adagrad, settings: NetworkSettings) -> None:
        self.data = data
        self._features = features
        self._settings = settings
        nothing = np.zeros((data.tree.shape[1], settings.dimensions), np.float32)
        self._traits = _Adagrad(nothing, by_row=False)
        self._codes_of_traits = data.tree.T.tocsr()
        self._field = {general: np.append(below, general) for general, below in data.fields}

    def step(self, rows: Ints, rate: float, random: np.random.Generator) -> None:
        """Take one step on some texts, at a fraction of the full learning rates."""
        data, settings = self.data, self._settings
        vectors, used = _compact(_thinned(data.vectors[rows], settings.dropout, random))
        weights = self._features.weights[used]
        directions = data.tree @ self._traits.weights
        hidden = vectors @ weights
        error = softmax(hidden @ directions.T, data.prior)
        self._subtract_labels(error, rows)
        error *= (data.weights[rows] / data.shares[rows])[:, None].astype(np.float32)
        back = error @ directions
        by_trait = self._codes_of_traits @ (error.T @ hidden)
        self._traits.step(slice(None), by_trait, rate * settings.trait_rate)
        gradient = vectors.T.tocsr() @ back
        weights *= settings.shrinkage
        gradient += weights
        self._features.step(used, gradient, rate * settings.feature_rate)

    def _subtract_labels(self, shares: Floats, rows: Ints) -> None:
        """Turn the predicted probabilities into the gradient of the loss, in place.

        The target is the label's code or, for a general label, the codes of its field in proportion
        to their predicted probabilities. A general label is thus no evidence against any code of
        its field. (Jin and Ghahramani: Learning with multiple labels, 2002.)
        """
        labels, partial = self.data.labels[rows], self.data.partial[rows]
        exact = np.flatnonzero(~partial)
        shares[exact, labels[exact]] -= 1
        for row in np.flatnonzero(partial):
            field = self._field[labels[row]]
            meant = shares[row, field]
            shares[row, field] -= meant / max(meant.sum(), TINY)

    def head(self) -> Head:
        """Return the trained head of the system."""
        softer = np.float32((1 - self._settings.dropout) ** self._settings.softness)
        return Head(self.data.tree @ self._traits.weights * softer, self.data.prior)


def _compact(vectors: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Ints]:
    """Return (texts x features that occur, the indices of those features)."""
    used, local = np.unique(vectors.indices, return_inverse=True)
    shape = (vectors.shape[0], len(used))
    return sparse.csr_matrix((vectors.data, local, vectors.indptr), shape), used


def prior(
    labels: Ints, weights: Floats, partial: Bools, codes: int, fields: Sequence[Field]
) -> Floats:
    """Return the log frequency of each code, smoothed by adding 1/20 of a text to each.

    A partial label is divided among the codes of its field, in proportion to their frequency.
    """
    seen = np.bincount(labels, weights * ~partial, codes) + 0.05
    partly = np.bincount(labels, weights * partial, codes)
    for general, below in fields:
        seen[below] *= 1 + partly[general] / seen[below].sum()
    logarithm: Floats = np.log(seen / seen.sum()).astype(np.float32)
    return logarithm


def _batches(
    learners: Sequence[_Learner], size: int, random: np.random.Generator
) -> Iterator[tuple[_Learner, Ints]]:
    """Yield the batches of one epoch, with the systems in random order."""
    batches: list[tuple[_Learner, Ints]] = []
    for learner in learners:
        data = learner.data
        taking_part = np.flatnonzero(random.random(len(data.labels)) < data.shares)
        order = random.permutation(taking_part)
        batches += [(learner, order[at : at + size]) for at in range(0, len(order), size)]
    for number in random.permutation(len(batches)):
        yield batches[number]


def _thinned(
    vectors: sparse.csr_matrix, dropout: float, random: np.random.Generator
) -> sparse.csr_matrix:
    kept = random.random(vectors.nnz, dtype=np.float32) >= dropout
    ends = np.concatenate([[0], np.cumsum(kept)])[vectors.indptr]
    return sparse.csr_matrix((vectors.data[kept], vectors.indices[kept], ends), vectors.shape)


FLOOR = 1e-6
"""Lower bound on the eigenvalues and singular values, as a fraction of the largest."""

LEAST_VALUE = 1e-12
"""Avoids division by zero if there is only one code and all singular values are zero."""

RARE = 1e-4
"""Added to the weight of each code, so that the rarest codes are not neglected."""


def merge(networks: Sequence[Network], use: Floats, width: int) -> Network:
    """Return one network whose scores are the mean of the networks' scores.

    The mean of low-rank networks has the sum of their ranks; a truncated singular value
    decomposition reduces it to ``width``. It weights each feature by its use in the texts and each
    code by its frequency. All systems count the same.

    Args:
        networks: networks with the same features and codes.
        use: root mean square of each feature in the texts.
        width: dimensions of the result; fewer if there are fewer codes.
    """
    features = np.hstack([network.features for network in networks])
    heads = [
        _mean(of_system) for of_system in zip(*(network.heads for network in networks), strict=True)
    ]
    used = features * (use + 1e-6)[:, None]
    # With few texts the features do not span all dimensions; the floor keeps the inverse stable.
    spread, axes = np.linalg.eigh((used.T @ used).astype(np.float64))
    lengths = np.sqrt(np.maximum(spread, spread.max() * FLOOR))
    weighed = np.vstack([head.directions * _importance(head)[:, None] for head in heads])
    left, values, _ = np.linalg.svd((lengths[:, None] * axes.T) @ weighed.T, full_matrices=False)
    root = np.sqrt(values[:width] + FLOOR * values[0] + LEAST_VALUE)
    turn = (axes / lengths) @ (left[:, :width] * root)
    back = ((left[:, :width] / root).T * lengths) @ axes.T
    turned = tuple(Head((h.directions @ back.T).astype(np.float32), h.prior) for h in heads)
    return Network(features @ turn.astype(np.float32), turned)


def _mean(heads: Sequence[Head]) -> Head:
    directions = np.hstack([head.directions for head in heads]) / len(heads)
    return Head(directions, np.mean([head.prior for head in heads], axis=0).astype(np.float32))


def _importance(head: Head) -> Floats:
    """Return how much an error in each code's score matters."""
    importance: Floats = np.sqrt(softmax(head.prior[None, :].copy())[0]) + RARE
    return importance


def tree(system: System, codes: Sequence[str]) -> sparse.csr_matrix:
    """Return a matrix (codes x traits) with 1 where a code has a trait."""
    number_of: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for row, code in enumerate(codes):
        for trait in traits(system, code):
            rows.append(row)
            columns.append(number_of.setdefault(trait, len(number_of)))
    ones = np.ones(len(rows), np.float32)
    return sparse.csr_matrix((ones, (rows, columns)), (len(codes), len(number_of)))


def traits(system: System, code: str) -> list[str]:
    """Return the code, its ancestors and, for PSC, the equipment or structure serviced."""
    itself = f"={code}"
    match system:
        case "cpv":
            short = stem("cpv", code)
            return [itself, *(short[:length] for length in range(2, min(len(short), 6) + 1))]
        case "unspsc":
            return [
                itself,
                *(code[:length] for length in (2, 4, 6) if code[length - 2 : length] != "00"),
            ]
        case "naics":
            return [itself, cut("naics", code, 2), code[:3], code[:4], code[:5]]
        case _:
            return [itself, *_psc(code)]


def _psc(code: str) -> list[str]:
    traits = [code[:2]]
    if code[:2].isdigit():
        return [*traits, "supplies", f"equipment {code[:2]}"]
    traits.append(code[0])
    if code[0] in "EHJKLNW" and code[2:].isdigit():
        traits.append(f"equipment {code[2:]}")
    if code[0] in "CEFMXYZ" and code[1].isdigit():
        traits += [f"structure {code[2:]}", f"structures {code[2]}"]
    if code[0] == "A":
        traits.append(f"stage {code[3]}")
    if code[0] in "7D":
        traits.append(f"technology {code[1]}")
    return traits
