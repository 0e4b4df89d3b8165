"""Defines the training data of one system and the recipe for training on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pipeline.answers import System
from pipeline.engine.model.matrices import Floats
from pipeline.engine.model.model import Model
from pipeline.engine.training.dataset import Examples
from pipeline.engine.training.network import NetworkSettings

HELD_BACK = 10
"""One row in this many is held out from the first model, to evaluate it."""

SMALL = 20_000
"""Up to this many examples, training uses more epochs, more dropout and more networks."""


@dataclass(frozen=True, slots=True)
class Task:
    """The training data and options of one system.

    Attributes:
        system: the classification system of the codes.
        taught: examples that both the first and the finished model are trained on.
        held_back: examples that evaluate the first model; the finished one may train on them.
        phrases: titles and other wordings of codes, added to the training data.
        weights: the weight of each example, with the held-out examples last.
        phrase_weights: the weight of each phrase.
        phrase_shares: the probability that an epoch samples each phrase.
        recognises: whether a text that repeats an example gets that example's usual code.
        learns_held_back: whether the finished model also trains on the held-out examples. If no
            task sets this, the evaluated model is the finished one, and training takes half the
            time.
        beside: an existing model to blend with the trained one, if any. Its calibration is the
            starting point, which a few held-out examples change little.
    """

    system: System
    taught: Examples
    held_back: Examples
    phrases: Examples
    weights: Floats
    phrase_weights: Floats
    phrase_shares: Floats
    recognises: bool = True
    learns_held_back: bool = True
    beside: Model | None = None

    def examples(self, whole: bool) -> Examples:
        """Return the training examples of the finished (``whole``) or the first model."""
        if whole and self.learns_held_back:
            return Examples.joined([self.taught, self.held_back])
        return self.taught


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyperparameters for training a model.

    Attributes:
        networks: the hyperparameters of each network in the average.
        at_least: the minimum number of texts that must contain a feature.
        most_learned: the maximum number of features in training; the most frequent are used.
        most_kept: the maximum number of features in the finished model; those with the most effect
            on the text vectors are kept.
        width: dimensions of the finished model.
        columns: how many columns are quantised into one byte; see
            `pipeline.engine.model.encoder`.
    """

    networks: tuple[NetworkSettings, ...]
    at_least: int
    most_learned: int = 300_000
    most_kept: int = 100_000
    width: int = 192
    columns: int = 2


def history_task(system: System, examples: Examples, beside: Model | None) -> Task:
    """Return the task for a user's history; a random tenth of it is held out.

    The trained model is blended with ``beside``, or used alone if there is none.
    """
    rows = len(examples)
    back = np.zeros(rows, np.bool_)
    back[np.random.default_rng(0).permutation(rows)[: max(1, rows // HELD_BACK)]] = True
    nothing = np.empty(0, np.float32)
    weights = np.ones(rows, np.float32)
    return Task(
        system,
        examples.where(~back),
        examples.where(back),
        Examples.of([], []),
        weights,
        nothing,
        nothing,
        beside=beside,
    )


def history_recipe(examples: int) -> Recipe:
    """Return the recipe for a history of this many examples."""
    if examples <= SMALL:
        # At this high dropout, a softness of 2/3 found the most codes in histories of all four
        # systems (1,000 to 10,000 rows). At the low dropout of larger histories, 0 was best.
        small = NetworkSettings(128, 15, 256, 0.5, dropout=0.8, shrinkage=0.001, softness=2 / 3)
        return Recipe(tuple(replace(small, seed=seed) for seed in range(4)), at_least=1)
    return Recipe(tuple(NetworkSettings(seed=seed) for seed in range(2)), at_least=2)
