"""Small made-up histories to learn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from pipeline.engine.model import Model
from pipeline.engine.training import Examples, Trained, history_recipe, history_task
from pipeline.engine.training.train import train

WORDS = {
    "03111000": ["wheat", "barley", "seeds", "grain"],
    "45233140": ["asphalt", "road", "kerbs", "paving"],
    "90910000": ["cleaning", "windows", "office", "janitor"],
}
"""A CPV code with a leading zero among them."""

FILLER = ["district", "north", "2024", "municipal", "annual", "school", "harbour", "phase"]

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
