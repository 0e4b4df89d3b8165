"""Trains a model from labelled texts and titles, and finds out how good it is on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.engine.learned.arrays import Bools, Floats, Ints, Texts
from pipeline.engine.learned.calibrate import calibrate, calibration_error, evidence
from pipeline.engine.learned.features import Counts, count
from pipeline.engine.learned.memory import remember
from pipeline.engine.learned.merge import merge
from pipeline.engine.learned.model import AT_ONCE, Model, build
from pipeline.engine.learned.network import Lesson, Network, Settings, fit
from pipeline.engine.learned.repeats import gather, hashes
from pipeline.engine.learned.tree import tree
from pipeline.engine.learned.vocabulary import Vocabulary, learn

__all__ = ["Examples", "Trained", "train", "work"]

HELD_BACK = 10
"""One row in so many is held back from the rehearsal, to see how good it is."""

SMALL = 20_000
"""Up to so many examples the epochs are many, much is dropped out, more networks are averaged."""

MOST_LEARNED = 300_000
MOST_KEPT = 100_000
"""Features while learning and in the finished model: those in most texts, then those that move
the texts most."""

WIDTH = 192

TITLES_AT_LEAST = 5_000
"""Titles that take part in an epoch; more if the examples are more. CPV has 200,000 of them."""

PART = 4_096
"""Texts counted at once."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts that were counted, so that they need not be kept, and the code of each.

    Attributes:
        parts: the counts of the texts, `PART` at once.
        hashes: of each text.
        codes: of each text.
    """

    parts: Sequence[Counts]
    hashes: Ints
    codes: Texts

    @staticmethod
    def of(texts: Sequence[str], codes: Sequence[str]) -> Examples:
        """Count texts."""
        parts = [count(texts[at : at + PART]) for at in range(0, len(texts), PART)]
        return Examples(parts, hashes(texts), np.array(codes, "U8"))

    @staticmethod
    def joined(some: Sequence[Examples]) -> Examples:
        """Return several as one."""
        parts = [part for each in some for part in each.parts]
        found = np.concatenate([np.empty(0, np.uint64), *(each.hashes for each in some)])
        return Examples(parts, found, np.concatenate([np.empty(0, "U8"), *(e.codes for e in some)]))

    def where(self, kept: Bools) -> Examples:
        """Return some of the examples."""
        ends = np.cumsum([0, *(part.matrix.shape[0] for part in self.parts)])
        places = zip(self.parts, ends[:-1], ends[1:], strict=True)
        parts = [Counts(p.matrix[kept[start:end]], p.present) for p, start, end in places]
        return Examples(parts, self.hashes[kept], self.codes[kept])


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and how good one was that lacked the examples held back.

    Attributes:
        model: taught by all examples.
        held_back: how many examples were held back.
        repeats: how many of them have a text that stood in the rest too.
        right: the share of them whose code was among the first 1, 5 and 10.
        error: expected calibration error on them; the confidence was fitted on them, too.
    """

    model: Model
    held_back: int
    repeats: int
    right: dict[int, float]
    error: float


def train(
    system: System, examples: Examples, titles: Examples, advance: Callable[[int], None]
) -> Trained:
    """Return a calibrated model.

    What confidence means is learned from a model that lacks a tenth of the examples; the model
    that is returned has them all.

    Args:
        system: whose codes these are.
        examples: what to learn.
        titles: titles of codes, taught along; none if nothing but the examples is to be learned.
        advance: told how many more texts were read, `work` in all.
    """
    back = np.zeros(len(examples.codes), np.bool_)
    back[np.random.default_rng(0).permutation(len(back))[: max(1, len(back) // HELD_BACK)]] = True
    rehearsed = _fitted(system, examples.where(~back), titles, advance)
    trial = _tried(rehearsed, examples.where(back))
    full = _fitted(system, examples, titles, advance)
    repeats = replace(full.repeats, trust=trial.model.repeats.trust)
    known = trial.model
    model = replace(full, repeats=repeats, calibration=known.calibration, unseen=known.unseen)
    return replace(trial, model=model)


def work(examples: int, titles: int) -> int:
    """Return about how many texts `train` reads, over all networks and epochs."""
    taught = int(2 * examples - examples / HELD_BACK)
    each = taught + 2 * _taking_part(examples, titles)
    return each * sum(settings.epochs for settings in _settings(examples))


def _fitted(
    system: System, examples: Examples, titles: Examples, advance: Callable[[int], None]
) -> Model:
    taught = Examples.joined([examples, titles])
    codes, labels = np.unique(taught.codes, return_inverse=True)
    own = len(examples.codes)
    small = own <= SMALL
    weights, shares = _weights(examples, titles, small)
    vocabulary = learn(taught.parts, 1 if len(labels) <= SMALL else 2, MOST_LEARNED)
    vectors = sparse.vstack([vocabulary.vectors(part)[0] for part in taught.parts]).tocsr()
    lesson = Lesson(vectors, labels, weights, shares, tree(system, codes.tolist()))
    use = _root_mean_square(vectors)
    network = merge([fit(lesson, each, advance) for each in _settings(own)], use, WIDTH)
    hidden = vectors @ network.features
    vocabulary, network = _trimmed(vocabulary, network, use)
    memory = remember(hidden[:own], labels[:own], weights[:own])
    about = (system, codes, np.isin(codes, examples.codes), len(titles.codes) == 0)
    return build(about, vocabulary, network, memory, gather(examples.hashes, labels[:own]))


def _weights(examples: Examples, titles: Examples, small: bool) -> tuple[Floats, Floats]:
    """Return (how much each text counts, how likely it takes part in an epoch)."""
    own, others = len(examples.codes), len(titles.codes)
    languages = others / max(1, len(np.unique(titles.codes)))
    weight = (1.0 if small else 0.3) / (1.0 if languages < 2 else 3.0)
    share = _taking_part(own, others) / max(1, others)
    weights = np.repeat([1.0, weight], [own, others]).astype(np.float32)
    return weights, np.repeat([1.0, share], [own, others])


def _taking_part(examples: int, titles: int) -> int:
    return min(titles, max(examples, TITLES_AT_LEAST))


def _settings(examples: int) -> list[Settings]:
    """Return how to learn each of the networks that are averaged."""
    if examples <= SMALL:
        small = Settings(128, 15, 256, feature_rate=0.5, dropout=0.8, shrinkage=0.001)
        return [replace(small, seed=seed) for seed in range(4)]
    return [Settings(seed=seed) for seed in range(2)]


def _trimmed(vocabulary: Vocabulary, network: Network, use: Floats) -> tuple[Vocabulary, Network]:
    """Keep the features that move the texts most: use times length of their weights."""
    moves = use * np.linalg.norm(network.features, axis=1)
    kept = np.sort(np.argsort(-moves, kind="stable")[:MOST_KEPT])
    smaller = Vocabulary(vocabulary.features[kept], vocabulary.rarity[kept].astype(np.float16))
    return smaller, replace(network, features=network.features[kept])


def _root_mean_square(vectors: sparse.csr_matrix) -> Floats:
    """Return how strongly each feature stands in the texts."""
    squares = np.bincount(vectors.indices, vectors.data.astype(np.float64) ** 2, vectors.shape[1])
    use: Floats = np.sqrt(squares / vectors.shape[0]).astype(np.float32)
    return use


def _tried(model: Model, held_back: Examples) -> Trained:
    """Calibrate a model by examples that it lacks, and say how good it is on them."""
    found, usual, _ = model.repeats.find(held_back.hashes)
    known_again = (model.codes[usual] == held_back.codes) & found
    trust = float((known_again.sum() + 1) / (found.sum() + 2))
    seen, right = [], []
    for part, _, codes in _portions(held_back):
        shares, known = model.shares(part)
        best = np.sort(shares, axis=1)[:, -2:]
        second = best[:, -2] if best.shape[1] > 1 else np.zeros(len(best))
        seen.append(evidence(best[:, -1], second, known))
        right.append(model.codes[shares.argmax(axis=1)] == codes)
    calibration = calibrate(np.concatenate(seen), np.concatenate(right))
    unseen = 1 - np.isin(held_back.codes, model.codes[model.exampled]).mean()
    repeats = replace(model.repeats, trust=trust)
    model = replace(model, calibration=calibration, repeats=repeats, unseen=float(unseen))
    ranks = [(model.ranked(part, seen, 10), codes) for part, seen, codes in _portions(held_back)]
    hits = np.concatenate([_hits(model.codes[places], codes) for (places, _), codes in ranks])
    sure = np.concatenate([confidence[:, 0] for (_, confidence), _ in ranks])
    among = {top: float(hits[:, :top].any(axis=1).mean()) for top in (1, 5, 10)}
    error = calibration_error(sure, hits[:, 0])
    return Trained(model, len(hits), int(found.sum()), among, error)


def _hits(found: Texts, codes: Texts) -> Bools:
    """Return texts x 10: which of the found codes is the right one."""
    hits = found == codes[:, None]
    return np.pad(hits, ((0, 0), (0, 10 - hits.shape[1])))


def _portions(examples: Examples) -> list[tuple[Counts, Ints, Texts]]:
    """Return examples in portions whose scores fit in one matrix: counts, hashes, codes."""
    portions = []
    start = 0
    for part in examples.parts:
        for at in range(0, part.matrix.shape[0], AT_ONCE):
            rows = part.matrix[at : at + AT_ONCE]
            place = slice(start, start + rows.shape[0])
            portions.append(
                (Counts(rows, part.present), examples.hashes[place], examples.codes[place])
            )
            start += rows.shape[0]
    return portions
