"""Evaluates a model on held-out examples and calibrates its confidence on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.answers import System
from pipeline.engine.model.acceptance import calibrate, calibration_error, evidence, fitted_spread
from pipeline.engine.model.encoder import Blend, Scorer, Scores, blend, familiarity, places
from pipeline.engine.model.matrices import Bools, Floats, Texts, highest
from pipeline.engine.model.model import Model, Repeats, fields, gather
from pipeline.engine.training.dataset import Examples, reading
from pipeline.engine.training.task import Task

TOP = 10

WEIGHTS = np.array([0.01, 0.02, *np.arange(0.05, 1.0, 0.05)])
"""Candidate weights of a history's model in its blend with the shipped model."""

CAUTION = 5
"""The weight is chosen as if only the shipped model knew the codes of so many more examples.

Otherwise a few held-out examples choose a large weight by chance. After 100 reviewed NAICS texts,
ten of them chose 0.5, and 36 % of the first codes of other texts of that publisher were exact,
against 48 % of the shipped model's; now they choose 0.25, and 49 % are."""

UNTHINKABLE = 1e-6
"""Minimum probability of the right code, for codes that neither model knows."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, and the results on the held-out examples of one trained without them.

    Attributes:
        model: the trained and calibrated model.
        first: the model that was trained without the held-out examples.
        truth: the codes of the held-out examples.
        found: the top ten codes for each held-out example, best first; padded with "".
        sure: the confidence of each example's top code.
        repeats: how many held-out examples have the same text as a training example.
    """

    model: Model
    first: Model
    truth: Texts
    found: Texts
    sure: Floats
    repeats: int

    def right(self, top: int) -> float:
        """Return the share of examples with the right code among the first ``top``."""
        return float(self.hits()[:, :top].any(axis=1).mean())

    def hits(self) -> Bools:
        """Return a mask (examples x 10) of which found codes are right."""
        hits: Bools = self.found == self.truth[:, None]
        return hits

    @property
    def error(self) -> float:
        """The expected calibration error, on the same examples that fitted the calibration."""
        return calibration_error(self.sure, self.hits()[:, 0])


def finished(task: Task, scorer: Scorer, trial: Model) -> Model:
    """Return the finished model, with the calibration of the one trained without held-out data.

    The scorer was trained on all examples, and the trial without the held-out ones.
    """
    scores = _beside(task, scorer, trial.weight)
    repeats = replace(_repeats(task, scores, True), trust=trial.repeats.trust)
    return replace(trial, scores=scores, repeats=repeats)


def tried(task: Task, scorer: Scorer) -> Trained:
    """Calibrate a model on the held-out examples and evaluate it on them.

    The scorer was trained without them.
    """
    scores = _beside(task, scorer, _weight(task, scorer))
    model = Model(task.system, scores, _repeats(task, scores, False), _alone(task))
    found, usual, _ = model.repeats.find(task.held_back.hashes)
    known_again = (model.codes[usual] == task.held_back.codes) & found
    trust = float((known_again.sum() + 1) / (found.sum() + 2))
    best, hits, known = _answered(task, lambda each: _ranked(model, each))
    seen = evidence(best[:, 0], best[:, 1], known)
    start = None if task.beside is None else task.beside.calibration
    calibration = calibrate(seen, hits[:, 0] > 0, start)
    first = calibration.confidence(seen)
    model = replace(
        model,
        calibration=replace(calibration, spread=fitted_spread(best, first, hits)),
        repeats=replace(model.repeats, trust=trust),
    )
    places, confidence = _answered(task, lambda each: model.ranked(reading(each), each.hashes, TOP))
    top = np.pad(model.codes[places], ((0, 0), (0, TOP - places.shape[1])))
    return Trained(model, model, task.held_back.codes, top, confidence[:, 0], int(found.sum()))


def _answered(
    task: Task, answer: Callable[[Examples], tuple[npt.NDArray[Any], ...]]
) -> tuple[npt.NDArray[Any], ...]:
    """Return what ``answer`` returns for the held-out examples."""
    found = [answer(each) for each in task.held_back.portions()]
    return tuple(map(np.concatenate, zip(*found, strict=True)))


def _ranked(model: Model, examples: Examples) -> tuple[Floats, Floats, Floats]:
    """Return (texts x 10: top probabilities; whether those codes are right; share known)."""
    shares, known = model.shares(reading(examples))
    places, best = highest(shares, TOP)
    hits = (model.codes[places] == examples.codes[:, None]).astype(np.float64)
    missing = ((0, 0), (0, TOP - best.shape[1]))
    return np.pad(best, missing), np.pad(hits, missing), known


def _beside(task: Task, scorer: Scorer, weight: float) -> Scorer | Blend:
    return scorer if task.beside is None else blend(scorer, task.beside.scores, weight)


def _weight(task: Task, scorer: Scorer) -> float:
    """Return the blend weight that maximises the held-out likelihood; see `CAUTION`."""
    if task.beside is None:
        return 1.0
    likelihood = CAUTION * np.log(1 - WEIGHTS)
    for each in task.held_back.portions():
        own, known = _share_of_truth(task.system, scorer, each)
        other, _ = _share_of_truth(task.system, task.beside.scores, each)
        weights = WEIGHTS[:, None] * familiarity(known)
        likelihood += np.log(weights * own + (1 - weights) * other + UNTHINKABLE).sum(axis=1)
    return float(WEIGHTS[likelihood.argmax()])


def _share_of_truth(system: System, scores: Scores, examples: Examples) -> tuple[Floats, Floats]:
    """Return (probability of each example's right code; share of its features known).

    For a general code, this is the probability of its whole field.
    """
    shares, known = scores.shares(reading(examples))
    for own, below in fields(system, scores.codes):
        shares[:, own] += shares[:, below].sum(axis=1)
    place = places(scores.codes, examples.codes)
    return np.where(place >= 0, shares[np.arange(len(examples)), place], 0), known


def _repeats(task: Task, scores: Scores, whole: bool) -> Repeats:
    examples = task.examples(whole) if task.recognises else Examples.of([], [])
    return gather(examples.hashes, places(scores.codes, examples.codes))


def _alone(task: Task) -> bool:
    """Return whether the examples were the only training data."""
    return task.beside is None and not len(task.phrases)
