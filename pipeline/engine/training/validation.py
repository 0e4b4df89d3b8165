"""Tries a model on examples that it was not taught, which says what its confidence means."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pipeline.answers import System
from pipeline.engine.model.arrays import Bools, Floats, Texts
from pipeline.engine.model.calibration import (
    calibrate,
    calibration_error,
    evidence,
    fitted_spread,
)
from pipeline.engine.model.exact_matches import Repeats, gather
from pipeline.engine.model.features import Counts
from pipeline.engine.model.general_codes import fields
from pipeline.engine.model.model import Model, highest
from pipeline.engine.model.scorer import Read, Scorer, Scores, blend, familiarity, places
from pipeline.engine.training.examples import Examples
from pipeline.engine.training.task import Task

__all__ = ["Trained", "finished", "tried"]

TOP = 10

WEIGHTS = np.arange(0.05, 1.0, 0.05)
"""Shares of a history in its blend with the shipped model that are tried."""

UNTHINKABLE = 1e-6
"""Chance that the right code has at least, where neither side knows it."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, and how one did that lacked the examples held back.

    Attributes:
        model: taught by all examples.
        truth: the codes of the examples held back.
        found: the first ten codes that they got, best first; "" where there were fewer.
        sure: the confidence of the first.
        repeats: how many of them have a text that the rest has too.
    """

    model: Model
    truth: Texts
    found: Texts
    sure: Floats
    repeats: int

    def right(self, top: int) -> float:
        """Return the share whose code was among the first ``top``."""
        return float(self.hits()[:, :top].any(axis=1).mean())

    def hits(self) -> Bools:
        """Return examples x 10: which of the found codes is the right one."""
        hits: Bools = self.found == self.truth[:, None]
        return hits

    @property
    def error(self) -> float:
        """The expected calibration error; the confidence was fitted on these examples, too."""
        return calibration_error(self.sure, self.hits()[:, 0])


def finished(task: Task, scorer: Scorer, trial: Model) -> Model:
    """Return the model that was taught everything, with the confidence of the one that was not.

    Args:
        task: what was taught.
        scorer: what was learned of all of it.
        trial: the calibrated model that lacked the examples held back.
    """
    scores = _beside(task, scorer, trial.weight)
    repeats = replace(_repeats(task, scores, True), trust=trial.repeats.trust)
    return replace(trial, scores=scores, repeats=repeats)


def tried(task: Task, scorer: Scorer) -> Trained:
    """Calibrate by the examples that were not taught, and say how good the model is on them.

    Args:
        task: what was taught, and what was held back.
        scorer: what was learned without that.
    """
    scores = _beside(task, scorer, _weight(task, scorer))
    model = Model(task.system, scores, _repeats(task, scores, False), _alone(task))
    found, usual, _ = model.repeats.find(task.held_back.hashes)
    known_again = (model.codes[usual] == task.held_back.codes) & found
    trust = float((known_again.sum() + 1) / (found.sum() + 2))
    ranked = [_ranked(model, each) for each in task.held_back.portions()]
    best, hits, known = (np.concatenate(each) for each in zip(*ranked, strict=True))
    seen = evidence(best[:, 0], best[:, 1], known)
    start = None if task.beside is None else task.beside.calibration
    calibration = calibrate(seen, hits[:, 0] > 0, start)
    first = calibration.confidence(seen)
    model = replace(
        model,
        calibration=replace(calibration, spread=fitted_spread(best, first, hits)),
        repeats=replace(model.repeats, trust=trust),
        unseen=float(1 - np.isin(task.held_back.codes, model.codes).mean()),
    )
    ranks = [
        model.ranked(_reader(each.parts[0]), each.hashes, TOP) for each in task.held_back.portions()
    ]
    places = np.concatenate([places for places, _ in ranks])
    top = np.pad(model.codes[places], ((0, 0), (0, TOP - places.shape[1])))
    sure = np.concatenate([confidence[:, 0] for _, confidence in ranks])
    return Trained(model, task.held_back.codes, top, sure, int(found.sum()))


def _ranked(model: Model, examples: Examples) -> tuple[Floats, Floats, Floats]:
    """Return (texts x 10: the highest shares; whether those codes are right; share known)."""
    shares, known = model.shares(_reader(examples.parts[0]))
    places, best = highest(shares, TOP)
    hits = (model.codes[places] == examples.codes[:, None]).astype(np.float64)
    missing = ((0, 0), (0, TOP - best.shape[1]))
    return np.pad(best, missing), np.pad(hits, missing), known


def _beside(task: Task, scorer: Scorer, weight: float) -> Scores:
    return scorer if task.beside is None else blend(scorer, task.beside.scores, weight)


def _weight(task: Task, scorer: Scorer) -> float:
    """Return the share of a history, in its blend, that makes the examples held back likeliest."""
    if task.beside is None:
        return 1.0
    likelihood = np.zeros(len(WEIGHTS))
    for each in task.held_back.portions():
        own, known = _share_of_truth(task.system, scorer, each)
        other, _ = _share_of_truth(task.system, task.beside.scores, each)
        weights = WEIGHTS[:, None] * familiarity(known)
        likelihood += np.log(weights * own + (1 - weights) * other + UNTHINKABLE).sum(axis=1)
    return float(WEIGHTS[likelihood.argmax()])


def _share_of_truth(system: System, scores: Scores, examples: Examples) -> tuple[Floats, Floats]:
    """Return (what share the right code of each example gets; share of its features known).

    Of a general code that is the share of its whole field.
    """
    shares, known = scores.shares(_reader(examples.parts[0]))
    for own, below in fields(system, scores.codes):
        shares[:, own] += shares[:, below].sum(axis=1)
    place = places(scores.codes, examples.codes)
    return np.where(place >= 0, shares[np.arange(len(examples)), place], 0), known


def _repeats(task: Task, scores: Scores, whole: bool) -> Repeats:
    examples = task.examples(whole) if task.recognises else Examples.of([], [])
    return gather(examples.hashes, places(scores.codes, examples.codes))


def _alone(task: Task) -> bool:
    """Tell whether nothing but the examples was learned from."""
    return task.beside is None and not len(task.phrases)


def _reader(counts: Counts) -> Read:
    return lambda encoder: encoder.hidden(counts)
