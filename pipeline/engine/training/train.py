"""Trains models on labelled texts, first without the held-out ones, then on all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from loky import ProcessPoolExecutor
from scipy import sparse

from pipeline.answers import System
from pipeline.codes.table import cut, stem
from pipeline.engine.model.encoder import Encoder, Scorer, quantised, rotation
from pipeline.engine.model.features import Vocabulary, learn
from pipeline.engine.model.matrices import Floats, Texts, rounded, softmax
from pipeline.engine.model.model import fields
from pipeline.engine.training.dataset import Examples
from pipeline.engine.training.network import Head, Network, Settings, TrainingSet, fit, prior
from pipeline.engine.training.task import Recipe, Task
from pipeline.engine.training.validation import Trained, finished, tried
from pipeline.errors import InputError
from pipeline.wording import TEXT_COLUMN

FLOOR = 1e-6
"""Lower bound on the eigenvalues and singular values, as a fraction of the largest."""

TINY = 1e-12
"""Avoids division by zero if there is only one code and all singular values are zero."""

RARE = 1e-4
"""Added to the weight of each code, so that the rarest codes are not neglected."""


def merge(networks: Sequence[Network], use: Floats, width: int) -> Network:
    """Return one network whose scores are the mean of the networks' scores.

    The mean of low-rank networks has the sum of their ranks; a truncated singular value
    decomposition reduces it to ``width``. It weights each feature by its use in the texts and each
    code by its frequency. All systems count the same.

    Args:
        networks: networks with the same features and codes.
        use: root mean square of each feature in the texts.
        width: dimensions of the result; fewer if there are fewer codes.
    """
    features = np.hstack([network.features for network in networks])
    heads = [_mean(each) for each in zip(*(network.heads for network in networks), strict=True)]
    used = features * (use + 1e-6)[:, None]
    # With few texts the features do not span all dimensions; the floor keeps the inverse stable.
    spread, axes = np.linalg.eigh((used.T @ used).astype(np.float64))
    lengths = np.sqrt(np.maximum(spread, spread.max() * FLOOR))
    weighed = np.vstack([head.directions * _importance(head)[:, None] for head in heads])
    left, values, _ = np.linalg.svd((lengths[:, None] * axes.T) @ weighed.T, full_matrices=False)
    root = np.sqrt(values[:width] + FLOOR * values[0] + TINY)
    turn = (axes / lengths) @ (left[:, :width] * root)
    back = ((left[:, :width] / root).T * lengths) @ axes.T
    turned = tuple(Head((h.directions @ back.T).astype(np.float32), h.prior) for h in heads)
    return Network(features @ turn.astype(np.float32), turned)


def _mean(heads: Sequence[Head]) -> Head:
    directions = np.hstack([head.directions for head in heads]) / len(heads)
    return Head(directions, np.mean([head.prior for head in heads], axis=0).astype(np.float32))


def _importance(head: Head) -> Floats:
    """Return how much an error in each code's score matters."""
    importance: Floats = np.sqrt(softmax(head.prior[None, :].copy())[0]) + RARE
    return importance


def tree(system: System, codes: Sequence[str]) -> sparse.csr_matrix:
    """Return a matrix (codes x traits) with 1 where a code has a trait."""
    place: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for row, code in enumerate(codes):
        for trait in traits(system, code):
            rows.append(row)
            columns.append(place.setdefault(trait, len(place)))
    ones = np.ones(len(rows), np.float32)
    return sparse.csr_matrix((ones, (rows, columns)), (len(codes), len(place)))


def traits(system: System, code: str) -> list[str]:
    """Return the code, its ancestors and, for PSC, the equipment or structure serviced."""
    own = f"={code}"
    match system:
        case "cpv":
            short = stem("cpv", code)
            return [own, *(short[:length] for length in range(2, min(len(short), 6) + 1))]
        case "unspsc":
            return [
                own,
                *(code[:length] for length in (2, 4, 6) if code[length - 2 : length] != "00"),
            ]
        case "naics":
            return [own, cut("naics", code, 2), code[:3], code[:4], code[:5]]
        case _:
            return [own, *_psc(code)]


def _psc(code: str) -> list[str]:
    found = [code[:2]]
    if code[:2].isdigit():
        return [*found, "supplies", f"equipment {code[:2]}"]
    found.append(code[0])
    if code[0] in "EHJKLNW" and code[2:].isdigit():
        found.append(f"equipment {code[2:]}")
    if code[0] in "CEFMXYZ" and code[1].isdigit():
        found += [f"structure {code[2:]}", f"structures {code[2]}"]
    if code[0] == "A":
        found.append(f"stage {code[3]}")
    if code[0] in "7D":
        found.append(f"technology {code[1]}")
    return found


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
    trials = [tried(task, scorer) for task, scorer in zip(tasks, rehearsed, strict=True)]
    models = [trial.model for trial in trials]
    if any(task.learns_held_back for task in tasks):
        whole = _fitted(tasks, recipe, True, advance, jobs, more)
        models = [*map(finished, tasks, whole, models)]
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
    taught = [Examples.joined([each.examples(whole), each.phrases]) for each in tasks]
    parts = [part for each in taught for part in each.parts]
    vocabulary = learn(parts, recipe.at_least, recipe.most_learned)
    if not len(vocabulary.features):
        raise InputError(
            "The texts to learn from have no words.",
            f"Name the columns that say what is bought: {TEXT_COLUMN}.",
        )
    codes = [np.unique(each.codes) for each in taught]
    sets = [
        _lesson(task, vocabulary, each, its_codes)
        for task, each, its_codes in zip(tasks, taught, codes, strict=True)
    ]
    use = _use(sets)
    sets = sets if more is None else more(sets, codes)
    network = merge(_networks(sets, recipe.networks, advance, jobs), use, recipe.width)
    del sets
    encoder, heads = _encoder(vocabulary, network, use, recipe)
    return [
        Scorer(encoder, its_codes, rounded(head.directions), head.prior)
        for head, its_codes in zip(heads, codes, strict=True)
    ]


def _networks(
    sets: Sequence[TrainingSet], networks: Sequence[Settings], advance: Advance, jobs: int
) -> list[Network]:
    """Train networks from different random starts, one by one or in parallel."""
    if jobs == 1:
        return [fit(sets, settings, advance) for settings in networks]
    read = sum(round(each.shares.sum()) for each in sets)
    found = []
    with ProcessPoolExecutor(max_workers=min(jobs, len(networks))) as executor:
        waiting = [executor.submit(fit, sets, settings, _unheard) for settings in networks]
        for settings, network in zip(networks, waiting, strict=True):
            found.append(network.result())
            advance(read * settings.epochs)
    return found


def _unheard(read: int) -> None:
    """Ignore progress in a worker process; the parent process reports it."""


def _lesson(task: Task, vocabulary: Vocabulary, taught: Examples, codes: Texts) -> TrainingSet:
    own = len(taught) - len(task.phrases)
    labels = np.searchsorted(codes, taught.codes)
    its_fields = fields(task.system, codes) if task.system in PARTIAL else ()
    partial = np.isin(labels, [place for place, _ in its_fields])
    partial[own:] = False  # the title of a general code describes that code only
    weights = np.concatenate([task.weights[:own], task.phrase_weights]).astype(np.float32)
    return TrainingSet(
        taught.vectors(vocabulary),
        labels,
        weights,
        np.concatenate([np.ones(own), task.phrase_shares]),
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
