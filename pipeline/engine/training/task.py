"""What is to be learned of one system, and how the networks are to learn it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from pipeline.answers import System
from pipeline.engine.model.arrays import Floats
from pipeline.engine.model.model import Model
from pipeline.engine.training.examples import Examples
from pipeline.engine.training.network import Settings
from pipeline.engine.training.other_languages import OtherLanguages

__all__ = ["Recipe", "Task", "history_recipe", "history_task"]

HELD_BACK = 10
"""One row in so many is held back from the rehearsal, to see how good it is."""

SMALL = 20_000
"""Up to so many examples the epochs are many, much is dropped out, more networks are averaged."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be learned of one system.

    Attributes:
        system: whose codes these are.
        taught: examples that are taught from the beginning.
        held_back: examples that try a first model, and are then taught too.
        phrases: titles and other wordings of codes, taught along.
        weights: how much each example counts, the held back ones behind the others.
        phrase_weights: how much each phrase counts.
        phrase_shares: how likely each phrase takes part in an epoch.
        titles: how many of the phrases, the first ones, are titles in English, one a code.
        learns_from: a system with phrases in more languages, which teach this one their words; see
            `pipeline.engine.training.other_languages`.
        remembers: whether typical texts of each code are kept.
        recognises: whether an example's text, asked again, is answered with its usual code.
        learns_held_back: whether the finished model learns the held back examples, too. If no
            task does, it is the model that was measured, and training takes half the time.
        beside: the model that answers together with what is learned, if one does; a few examples
            held back change little of what its confidence means.
    """

    system: System
    taught: Examples
    held_back: Examples
    phrases: Examples
    weights: Floats
    phrase_weights: Floats
    phrase_shares: Floats
    titles: int = 0
    learns_from: System | None = None
    remembers: bool = True
    recognises: bool = True
    learns_held_back: bool = True
    beside: Model | None = None

    def examples(self, whole: bool) -> Examples:
        """Return the examples: those of the finished model, or those that are not held back."""
        if whole and self.learns_held_back:
            return Examples.joined([self.taught, self.held_back])
        return self.taught


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to learn.

    Attributes:
        networks: how each of the networks that are averaged learns.
        at_least: the minimum number of texts with a feature.
        most_learned: features while learning, those in most texts.
        most_kept: features in the finished model, those that move the texts most.
        width: dimensions of the finished model.
        columns: of a part that is kept in one byte; see `codebook`.
        other_languages: how much the phrases of `Task.learns_from` teach.
    """

    networks: tuple[Settings, ...]
    at_least: int
    most_learned: int = 300_000
    most_kept: int = 100_000
    width: int = 192
    columns: int = 2
    other_languages: OtherLanguages = field(default_factory=OtherLanguages)


def history_task(system: System, examples: Examples, beside: Model | None) -> Task:
    """Return how a user's history is learned: a tenth of it, drawn at random, is held back.

    Args:
        system: whose codes these are.
        examples: the history.
        beside: the model that answers together with what is learned; without it that is all.
    """
    own = len(examples)
    back = np.zeros(own, np.bool_)
    back[np.random.default_rng(0).permutation(own)[: max(1, own // HELD_BACK)]] = True
    nothing = np.empty(0, np.float32)
    weights = np.ones(own, np.float32)
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
    """Return how to learn so many examples."""
    if examples <= SMALL:
        # With so much dropped out a softness of 2/3 found most codes in histories of all four
        # systems (1,000 to 10,000 rows); with the little that is dropped of larger ones, none did.
        small = Settings(128, 15, 256, 0.5, dropout=0.8, shrinkage=0.001, softness=2 / 3)
        return Recipe(tuple(replace(small, seed=seed) for seed in range(4)), at_least=1)
    return Recipe(tuple(Settings(seed=seed) for seed in range(2)), at_least=2)
