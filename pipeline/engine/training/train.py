"""Trains models on labelled texts, first without the held-out ones, then on all.

The held-out ones evaluate the first model, and calibrate the confidence of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from loky import ProcessPoolExecutor

from pipeline.answers import System
from pipeline.engine.model.acceptance import calibrate, calibration_error, evidence, fitted_spread
from pipeline.engine.model.encoder import (
    Blend,
    Encoder,
    Scorer,
    Scores,
    blend,
    familiarity,
    places,
    quantised,
    rotation,
)
from pipeline.engine.model.features import Vocabulary, learn
from pipeline.engine.model.matrices import Bools, Floats, Texts, highest, rounded
from pipeline.engine.model.model import Model, Repeats, fields, gather
from pipeline.engine.training.dataset import Examples, encode_examples
from pipeline.engine.training.network import (
    Head,
    Network,
    NetworkSettings,
    TrainingSet,
    fit,
    merge,
    prior,
    tree,
)
from pipeline.engine.training.task import Recipe, Task
from pipeline.errors import InputError
from pipeline.wording import TEXT_COLUMN

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


Advance = Callable[[int], None]

More = Callable[[Sequence[TrainingSet], Sequence[Texts]], list[TrainingSet]]

PARTIAL: Sequence[System] = ("cpv",)
"""Systems in which a general label may mean any code of its field.

For CPV this ranks .318 of the specific codes of the held-out texts first, up from .286; .421 are
right to the depth that the buyer states, up from .394. For UNSPSC it gets only .389 right to that
depth, against .407 if a segment is learned like any other code: AusTender uses some segments as
ordinary codes."""


def train(
    tasks: Sequence[Task], recipe: Recipe, advance: Advance, jobs: int = 1, more: More | None = None
) -> list[Trained]:
    """Return a calibrated model for each task; all tasks share the encoder.

    Confidence is calibrated on the held-out examples, with models that were trained without them.
    The returned models are trained on them too, unless their tasks say otherwise.

    ``advance`` gets the number of texts read since its last call, about `work` in total. With
    several jobs, each network is trained in its own process. ``more`` adds texts to the training
    sets of the tasks, whose codes it is given.

    Raises:
        InputError: no text contains a word to learn from.
    """
    rehearsed = _fitted(tasks, recipe, False, advance, jobs, more)
    trials = [_tried(task, scorer) for task, scorer in zip(tasks, rehearsed, strict=True)]
    models = [trial.model for trial in trials]
    if any(task.learns_held_back for task in tasks):
        whole = _fitted(tasks, recipe, True, advance, jobs, more)
        models = [*map(_finished, tasks, whole, models)]
    return [
        replace(trial, model=model, first=trial.model)
        for trial, model in zip(trials, models, strict=True)
    ]


def work(tasks: Sequence[Task], recipe: Recipe) -> int:
    """Return about how many texts `train` reads, over all networks and epochs."""
    stages = [False, True] if any(task.learns_held_back for task in tasks) else [False]
    epochs = sum(settings.epochs for settings in recipe.networks)
    return epochs * sum(
        len(task.examples(whole)) + round(float(task.phrase_shares.sum()))
        for whole in stages
        for task in tasks
    )


def _fitted(
    tasks: Sequence[Task],
    recipe: Recipe,
    whole: bool,
    advance: Advance,
    jobs: int,
    more: More | None,
) -> list[Scorer]:
    """Train the networks and return a scorer for each system."""
    taught = [Examples.joined([task.examples(whole), task.phrases]) for task in tasks]
    parts = [part for examples in taught for part in examples.parts]
    vocabulary = learn(parts, recipe.at_least, recipe.most_learned)
    if not len(vocabulary.features):
        raise InputError(
            "The texts to learn from have no words.",
            f"Name the columns that say what is bought: {TEXT_COLUMN}.",
        )
    codes = [np.unique(examples.codes) for examples in taught]
    sets = [
        _lesson(task, vocabulary, examples, its_codes)
        for task, examples, its_codes in zip(tasks, taught, codes, strict=True)
    ]
    use = _use(sets)
    sets = sets if more is None else more(sets, codes)
    network = merge(_networks(sets, recipe.networks, advance, jobs), use, recipe.width)
    del sets
    encoder, heads = _encoder(vocabulary, network, use, recipe)
    return [
        Scorer(task.system, encoder, its_codes, rounded(head.directions), head.prior)
        for task, head, its_codes in zip(tasks, heads, codes, strict=True)
    ]


def _networks(
    sets: Sequence[TrainingSet], networks: Sequence[NetworkSettings], advance: Advance, jobs: int
) -> list[Network]:
    """Train networks from different random starts, one by one or in parallel."""
    if jobs == 1:
        return [fit(sets, settings, advance) for settings in networks]
    read = sum(round(each.shares.sum()) for each in sets)
    fitted = []
    with ProcessPoolExecutor(max_workers=min(jobs, len(networks))) as executor:
        waiting = [executor.submit(fit, sets, settings, _unheard) for settings in networks]
        for settings, network in zip(networks, waiting, strict=True):
            fitted.append(network.result())
            advance(read * settings.epochs)
    return fitted


def _unheard(read: int) -> None:
    """Ignore progress in a worker process; the parent process reports it."""


def _lesson(task: Task, vocabulary: Vocabulary, taught: Examples, codes: Texts) -> TrainingSet:
    from_texts = len(taught) - len(task.phrases)
    labels = np.searchsorted(codes, taught.codes)
    its_fields = fields(task.system, codes) if task.system in PARTIAL else ()
    partial = np.isin(labels, [index for index, _ in its_fields])
    partial[from_texts:] = False  # the title of a general code describes that code only
    weights = np.concatenate([task.weights[:from_texts], task.phrase_weights]).astype(np.float32)
    return TrainingSet(
        taught.vectors(vocabulary),
        labels,
        weights,
        np.concatenate([np.ones(from_texts), task.phrase_shares]),
        tree(task.system, codes.tolist()),
        its_fields,
        partial,
        prior(labels, weights, partial, len(codes), its_fields),
    )


def _use(sets: Sequence[TrainingSet]) -> Floats:
    """Return the root mean square of each feature in the texts; all systems count the same."""
    squares = [
        np.bincount(
            each.vectors.indices, each.vectors.data.astype(np.float64) ** 2, each.vectors.shape[1]
        )
        / each.vectors.shape[0]
        for each in sets
    ]
    use: Floats = np.sqrt(np.mean(squares, axis=0)).astype(np.float32)
    return use


def _encoder(
    vocabulary: Vocabulary, network: Network, use: Floats, recipe: Recipe
) -> tuple[Encoder, list[Head]]:
    """Quantise the features with the most effect on text vectors (use times weight norm)."""
    moves = use * np.linalg.norm(network.features, axis=1)
    kept = np.sort(np.argsort(-moves, kind="stable")[: recipe.most_kept])
    smaller = Vocabulary(vocabulary.features[kept], vocabulary.rarity[kept].astype(np.float16))
    width = network.features.shape[1]
    padded = -width % recipe.columns
    turn = np.pad(rotation(width), ((0, 0), (0, padded)))
    weights = quantised(network.features[kept] @ turn, recipe.columns, use[kept])
    heads = [Head(head.directions @ turn, head.prior) for head in network.heads]
    return Encoder(smaller, weights), heads


def _finished(task: Task, scorer: Scorer, trial: Model) -> Model:
    """Return the finished model, with the calibration of the one trained without held-out data.

    The scorer was trained on all examples, and the trial without the held-out ones.
    """
    scores = _beside(task, scorer, trial.weight)
    repeats = replace(_repeats(task, scores, True), trust=trial.repeats.trust)
    return replace(trial, scores=scores, repeats=repeats)


def _tried(task: Task, scorer: Scorer) -> Trained:
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
    indices, confidence = _answered(
        task, lambda each: model.ranked(encode_examples(each), each.hashes, TOP)
    )
    top = np.pad(model.codes[indices], ((0, 0), (0, TOP - indices.shape[1])))
    return Trained(model, model, task.held_back.codes, top, confidence[:, 0], int(found.sum()))


def _answered(
    task: Task, answer: Callable[[Examples], tuple[npt.NDArray[Any], ...]]
) -> tuple[npt.NDArray[Any], ...]:
    """Return what ``answer`` returns for the held-out examples."""
    answers = [answer(portion) for portion in task.held_back.portions()]
    return tuple(map(np.concatenate, zip(*answers, strict=True)))


def _ranked(model: Model, examples: Examples) -> tuple[Floats, Floats, Floats]:
    """Return (texts x 10: top probabilities; whether those codes are right; share known)."""
    shares, known = model.shares(encode_examples(examples))
    indices, best = highest(shares, TOP)
    hits = (model.codes[indices] == examples.codes[:, None]).astype(np.float64)
    missing = ((0, 0), (0, TOP - best.shape[1]))
    return np.pad(best, missing), np.pad(hits, missing), known


def _beside(task: Task, scorer: Scorer, weight: float) -> Scorer | Blend:
    return scorer if task.beside is None else blend(scorer, task.beside.own, weight)


def _weight(task: Task, scorer: Scorer) -> float:
    """Return the blend weight that maximises the held-out likelihood; see `CAUTION`."""
    if task.beside is None:
        return 1.0
    likelihood = CAUTION * np.log(1 - WEIGHTS)
    for portion in task.held_back.portions():
        own, known = _share_of_truth(scorer, portion)
        other, _ = _share_of_truth(task.beside.own, portion)
        weights = WEIGHTS[:, None] * familiarity(known)
        likelihood += np.log(weights * own + (1 - weights) * other + UNTHINKABLE).sum(axis=1)
    return float(WEIGHTS[likelihood.argmax()])


def _share_of_truth(scorer: Scorer, examples: Examples) -> tuple[Floats, Floats]:
    """Return (probability of each example's right code; share of its features known).

    For a general code, this is the probability of its whole field.
    """
    shares, known = scorer.shares(encode_examples(examples))
    for general, below in fields(scorer.system, scorer.codes):
        shares[:, general] += shares[:, below].sum(axis=1)
    indices = places(scorer.codes, examples.codes)
    return np.where(indices >= 0, shares[np.arange(len(examples)), indices], 0), known


def _repeats(task: Task, scores: Scores, whole: bool) -> Repeats:
    examples = task.examples(whole) if task.recognises else Examples.of([], [])
    return gather(examples.hashes, places(scores.codes, examples.codes))


def _alone(task: Task) -> bool:
    """Return whether the examples were the only training data."""
    return task.beside is None and not len(task.phrases)
