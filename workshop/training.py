"""Trains the models of several systems together, as the models of the package were.

Beyond `pipeline.engine.training`, which trains on a history: texts of CPV teach systems whose
examples are in one or two languages, and trees learn from an expert's verdicts which codes are
accepted.

CPV notices come in 24 languages, and CPV codes have titles in 24. The crosswalk says which code of
another system fits a CPV code, so these texts teach that system, too: `Streusalz` and road salt get
the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.engine import training
from pipeline.engine.model.encoder import Scorer
from pipeline.engine.model.matrices import Ints, Texts
from pipeline.engine.model.model import Model
from pipeline.engine.training import Trained
from pipeline.engine.training.network import TrainingSet
from workshop.acceptance import Judgement, judge, lister


@dataclass(frozen=True, slots=True)
class OtherLanguages:
    """Settings for training on the texts of CPV.

    Attributes:
        title_weight: the weight of a title or phrase of a CPV code.
        title_share: the probability that an epoch samples it.
        notice_weight: the weight of a CPV notice, multiplied by its weight among those of CPV.
        notice_share: the probability that an epoch samples it.
    """

    title_weight: float = 0.2
    title_share: float = 0.2
    notice_weight: float = 0.1
    notice_share: float = 0.2

    def times(self, factor: float) -> OtherLanguages:
        """Return the same with the weights multiplied."""
        return replace(
            self,
            title_weight=self.title_weight * factor,
            notice_weight=self.notice_weight * factor,
        )


@dataclass(frozen=True, slots=True)
class Recipe(training.Recipe):
    """Hyperparameters for training the models of several systems.

    Attributes:
        other_languages: how much the texts of CPV count in systems with a crosswalk.
    """

    other_languages: OtherLanguages = field(default_factory=OtherLanguages)


@dataclass(frozen=True, slots=True)
class Task(training.Task):
    """The training data and options of one system.

    Attributes:
        crosswalk: the system's codes for each CPV code, best first, if the texts of CPV are added
            to its examples.
        weight_of_cpv: how much these texts count.
        judged: texts whose codes an expert judged, if the model learns from them how likely its
            codes are accepted. They should be unknown to the first model.
    """

    crosswalk: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weight_of_cpv: float = 1.0
    judged: Sequence[Judgement] = ()

    @property
    def gains_cpv(self) -> bool:
        """Whether the texts of CPV are added to its examples."""
        return bool(self.crosswalk)


def train(
    tasks: Sequence[Task], recipe: Recipe, advance: Callable[[int], None], jobs: int = 1
) -> list[Trained]:
    """Return a calibrated model for each task, which judges no codes; all share the encoder.

    See `pipeline.engine.training.train`, which trains the networks.

    Raises:
        InputError: no text contains a word to learn from.
    """

    def more(sets: Sequence[TrainingSet], codes: Sequence[Texts]) -> list[TrainingSet]:
        return _in_more_languages(tasks, sets, codes, recipe.other_languages)

    return training.train(tasks, recipe, advance, jobs, more)


def work(tasks: Sequence[Task], recipe: Recipe) -> int:
    """Return about how many texts `train` reads, over all networks and epochs."""
    languages = recipe.other_languages
    stages = [False, True] if any(task.learns_held_back for task in tasks) else [False]
    more = sum(
        languages.notice_share * len(task.examples(whole))
        + languages.title_share * len(task.phrases)
        for task in tasks
        for whole in stages
        if task.system == "cpv"
    )
    epochs = sum(settings.epochs for settings in recipe.networks)
    gaining = sum(task.gains_cpv for task in tasks)
    return training.work(tasks, recipe) + int(epochs * gaining * more)


def judging(
    tasks: Sequence[Task], found: Sequence[Trained]
) -> dict[System, tuple[Model, dict[str, Any]]]:
    """Return the models of the tasks with judged texts, which now judge, and how well they do."""
    scorers = {each.model.system: each.model.own for each in found}
    return {
        task.system: _with_acceptance(task, trained, scorers)
        for task, trained in zip(tasks, found, strict=True)
        if task.judged
    }


def _with_acceptance(
    task: Task, trained: Trained, scorers: Mapping[System, Scorer]
) -> tuple[Model, dict[str, Any]]:
    listed = lister(task, False, trained.first)
    acceptance, figures = judge(trained.first, listed, scorers, task.judged)
    evidence = replace(acceptance.evidence, lister=lister(task, True, trained.model))
    return replace(trained.model, acceptance=replace(acceptance, evidence=evidence)), figures


def _in_more_languages(
    tasks: Sequence[Task],
    sets: Sequence[TrainingSet],
    codes: Sequence[Texts],
    languages: OtherLanguages,
) -> list[TrainingSet]:
    """Return the training sets, some with the texts of CPV in many languages."""
    cpv = next((place for place, task in enumerate(tasks) if task.system == "cpv"), None)
    if cpv is None:
        return [*sets]
    return [
        with_other_languages(
            data,
            its_codes,
            sets[cpv],
            codes[cpv],
            len(tasks[cpv].phrases),
            task.crosswalk,
            languages.times(task.weight_of_cpv),
        )
        if task.gains_cpv
        else data
        for task, data, its_codes in zip(tasks, sets, codes, strict=True)
    ]


def best_counterparts(
    crosswalk: Mapping[str, Sequence[str]], cpv_codes: Texts, codes: Texts
) -> Ints:
    """Return, for each CPV code, the index among ``codes`` of the one that fits it best, or -1.

    The crosswalk has the codes of another system for each CPV code, best first.
    """
    place = {code: number for number, code in enumerate(codes.tolist())}
    fits = [crosswalk.get(code, ()) for code in cpv_codes.tolist()]
    return np.array([next((place[code] for code in some if code in place), -1) for some in fits])


def with_other_languages(
    data: TrainingSet,
    codes: Texts,
    cpv: TrainingSet,
    cpv_codes: Texts,
    phrases: int,
    crosswalk: Mapping[str, Sequence[str]],
    settings: OtherLanguages,
) -> TrainingSet:
    """Add the texts of CPV to a training set, with the best code that the crosswalk gives them.

    The last ``phrases`` rows of ``cpv`` are titles and phrases.
    """
    labels = best_counterparts(crosswalk, cpv_codes, codes)[cpv.labels]
    rows = np.flatnonzero(labels >= 0)
    is_title = rows >= len(labels) - phrases
    weights = np.where(is_title, settings.title_weight, settings.notice_weight * cpv.weights[rows])
    shares = np.where(is_title, settings.title_share, settings.notice_share)
    return replace(
        data,
        vectors=sparse.vstack([data.vectors, cpv.vectors[rows]]).tocsr(),
        labels=np.concatenate([data.labels, labels[rows]]),
        weights=np.concatenate([data.weights, weights.astype(np.float32)]),
        shares=np.concatenate([data.shares, shares]),
        partial=np.concatenate([data.partial, np.zeros(len(rows), np.bool_)]),
    )
