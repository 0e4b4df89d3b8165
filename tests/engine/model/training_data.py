"""Small made-up histories to learn from, and tasks and recipes for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random

import numpy as np

from pipeline.answers import System
from pipeline.engine.model import Model
from pipeline.engine.training import (
    Examples,
    NetworkSettings,
    Recipe,
    Task,
    Trained,
    history_recipe,
    history_task,
)
from pipeline.engine.training.train import train

WORDS = {
    "03111000": ["wheat", "barley", "seeds", "grain"],
    "45233140": ["asphalt", "road", "kerbs", "paving"],
    "90910000": ["cleaning", "windows", "office", "janitor"],
}
"""A CPV code with a leading zero among them."""

FILLER = ["district", "north", "2024", "municipal", "annual", "school", "harbour", "phase"]

PHRASES = (["Fishing vessels", "Musical instruments"], ["34512000", "37310000"])
"""Titles and their codes, which no history has."""

Advance = Callable[[int], None]


def ignored(done: int) -> None:
    """Take no notice of progress."""


def history(rows: int, seed: int = 0, noise: float = 0.0) -> tuple[list[str], list[str]]:
    """Return texts and their codes; a share of the codes is drawn at random."""
    random = Random(seed)
    texts, codes = [], []
    for _ in range(rows):
        code = random.choice(list(WORDS))
        texts.append(" ".join(random.choices(WORDS[code], k=2) + random.choices(FILLER, k=3)))
        codes.append(random.choice(list(WORDS)) if random.random() < noise else code)
    return texts, codes


def learned(texts: Sequence[str], codes: Sequence[str], beside: Model | None = None) -> Trained:
    """Return what a CPV history teaches, alone or beside another model."""
    examples = Examples.of(texts, codes)
    task = history_task("cpv", examples, beside)
    (trained,) = train([task], history_recipe(len(examples)), ignored)
    return trained


@cache
def taught(rows: int = 300, noise: float = 0.0) -> Trained:
    """Return what a history teaches; the same each time."""
    return learned(*history(rows, noise=noise))


def answers(model: Model, texts: list[str], top: int = 1) -> list[list[str]]:
    places, _ = model.predict(texts, top)
    found: list[list[str]] = model.codes[places].tolist()
    return found


def task(
    system: System, texts: list[str], codes: list[str], phrases: tuple[list[str], list[str]]
) -> Task:
    """Return a task of which every tenth row is held back."""
    tenth = np.arange(len(texts)) % 10 == 0
    examples, others = Examples.of(texts, codes), Examples.of(*phrases)
    ones = np.ones(len(texts), np.float32), np.ones(len(others), np.float32)
    return Task(
        system, examples.where(~tenth), examples.where(tenth), others, ones[0], ones[1], ones[1]
    )


def small(networks: int = 2) -> Recipe:
    settings = tuple(NetworkSettings(32, 15, 64, 0.5, dropout=0.5, seed=n) for n in range(networks))
    return Recipe(settings, at_least=1, width=32, columns=4)
