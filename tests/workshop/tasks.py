"""Tasks and recipes of the workshop, from small made-up histories."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pipeline.answers import System
from pipeline.engine import training
from tests.engine.model import training_data
from tests.engine.model.training_data import history
from workshop.acceptance import Judgement, Verdict
from workshop.training import OtherLanguages, Recipe, Task

__all__ = ["SWAPPED", "as_recipe", "judgements", "of_workshop", "small", "task"]

SWAPPED = {"03111000": "45233140", "45233140": "03111000", "90910000": "90910000"}
"""What the expert accepts in place of what buyers write."""


def judgements(
    rows: int, seed: int, accepted: dict[str, str] = SWAPPED, sources: int = 7
) -> list[Judgement]:
    """Return judged texts of some sources; the expert saw all three codes."""
    found = []
    for number, (text, code) in enumerate(zip(*history(rows, seed=seed), strict=True)):
        right = frozenset({accepted[code]})
        verdict = Verdict(right, frozenset(SWAPPED) - right, unknowable=False)
        found.append(Judgement(text, f"source {number % sources}", {"cpv": verdict}))
    return found


def of_workshop(task: training.Task, **more: Any) -> Task:
    """Return a task of the package as one of the workshop, with what only that has."""
    return Task(**{each.name: getattr(task, each.name) for each in fields(task)}, **more)


def task(
    system: System,
    texts: list[str],
    codes: list[str],
    phrases: tuple[list[str], list[str]],
    **more: Any,
) -> Task:
    """Return a task of which every tenth row is held back."""
    return of_workshop(training_data.task(system, texts, codes, phrases), **more)


def small(networks: int = 2, languages: OtherLanguages | None = None) -> Recipe:
    """Return a recipe that takes a moment."""
    return as_recipe(training_data.small(networks), languages)


def as_recipe(own: training.Recipe, languages: OtherLanguages | None = None) -> Recipe:
    """Return a recipe of the package as one of the workshop."""
    values = {each.name: getattr(own, each.name) for each in fields(own)}
    return Recipe(**values, other_languages=languages or OtherLanguages())
