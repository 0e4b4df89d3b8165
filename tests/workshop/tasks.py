"""Tasks and recipes of the workshop, from small made-up histories."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pipeline.answers import System
from pipeline.engine import training
from tests.engine.model import training_data
from workshop.training import OtherLanguages, Recipe, Task

__all__ = ["as_recipe", "of_workshop", "small", "task"]


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
