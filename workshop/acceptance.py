"""Learns from notices that an expert judged how likely the best codes of a text are accepted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.codes import load, titles_by_language
from pipeline.engine.model.acceptance import Acceptance, Evidence, Trees, Voice, log_odds
from pipeline.engine.model.calibration import calibration_error, logistic, probability
from pipeline.engine.model.candidates import (
    LEVELS,
    MOST_CODES,
    SMOOTHING,
    InvertedIndex,
    Lister,
    WordIndex,
)
from pipeline.engine.model.encoder import portions, reading
from pipeline.engine.model.features import BITS, Vocabulary
from pipeline.engine.model.matrices import Bools, Floats, Ints, Texts
from pipeline.engine.model.model import Model, is_general
from pipeline.engine.model.serialization import own
from pipeline.engine.model.title_words import (
    RARITY_STEP,
    TitleWords,
    rarities,
    rarity_levels,
    stems,
)
from pipeline.engine.text.cleaning import cleaned, readable
from pipeline.engine.training.dataset import Examples
from pipeline.engine.training.task import Task
from pipeline.errors import InputError
from workshop.boosting import boosted

__all__ = [
    "Judgement",
    "Lessons",
    "Verdict",
    "build",
    "judge",
    "lister",
    "mean_of",
    "read_judged",
    "source_folds",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the expert says of the codes of a text in one system.

    Attributes:
        accepted: the codes that fit.
        refused: the codes that do not, or are too general to be useful.
        unknowable: whether the text does not say what is bought, so that no code fits.
    """

    accepted: frozenset[str]
    refused: frozenset[str]
    unknowable: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """A text, the collection that it is from, and what an expert says of its codes."""

    text: str
    source: str
    verdicts: Mapping[System, Verdict]


def read_judged(path: Path) -> list[Judgement]:
    """Read a file with a JSON object on each line, compressed with gzip.

    Each has ``text``, ``source`` and ``systems``. Those have, by system, the lists ``candidates``
    (shown to the expert), ``accepted``, ``other`` (accepted, but not shown) and ``general``, or
    ``unknowable``.

    Raises:
        InputError: the file cannot be read, or a line is not such an object.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [_judgement(json.loads(line)) for line in lines]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} holds no judged notices: {error}.", "Name another file as judged."
        ) from error


def _judgement(values: Mapping[str, Any]) -> Judgement:
    verdicts = {system: _verdict(each) for system, each in values["systems"].items()}
    return Judgement(values["text"], values["source"], verdicts)


def _verdict(values: Mapping[str, Any]) -> Verdict:
    if values.get("unknowable"):
        return Verdict(frozenset(), frozenset(), True)
    accepted = frozenset(values["accepted"]) | frozenset(values["other"])
    return Verdict(accepted, frozenset(values["candidates"]) - accepted, False)


MOST_ENTRIES = 100_000
"""The most entries of the examples' index; those of the most examples are kept.

CPV has 1.3 million, most of them of one example. With 194,000, those of several, the reranker finds
as many codes of held-out texts: .352 first instead of .351, and .684 among ten instead of .686."""


def build(vocabulary: Vocabulary, codes: Texts, taught: Examples, titles: Examples) -> WordIndex:
    """Return the word index of one system.

    The codes that the model can predict are in ascending order.
    """
    words, pairs = (int(np.searchsorted(vocabulary.features, n << BITS)) for n in (1, 2))
    labels = np.searchsorted(codes, taught.codes)
    texts = np.bincount(labels, minlength=len(codes)).astype(np.float32)
    weights = taught.vectors(vocabulary, pairs)
    return WordIndex(
        _examples(weights, labels, len(codes)),
        _titles(vocabulary, np.searchsorted(codes, titles.codes), titles, words),
        texts,
    )


def _examples(weights: sparse.csr_matrix, labels: Ints, codes: int) -> InvertedIndex:
    """Index the words of labelled texts."""
    texts, words = weights.shape
    ones = np.ones(texts, np.float32)
    by_code = sparse.csr_matrix((ones, (labels, np.arange(texts))), (codes, texts))
    seen = sparse.csr_matrix(by_code @ weights.sign())
    mean = sparse.csr_matrix(by_code @ weights)
    for each in (seen, mean):  # now their entries stand in the same order
        each.sort_indices()
    count, lengths = seen.data, np.sqrt(np.asarray(mean.multiply(mean).sum(axis=1)).ravel())
    code = np.repeat(np.arange(codes), np.diff(seen.indptr))
    usual = np.bincount(seen.indices, count, words) / max(1, texts)
    ratio = np.log1p(count / (SMOOTHING * usual[seen.indices]))
    cosine = mean.data / np.maximum(lengths[code], 1e-9)
    few = np.flatnonzero(_of_few_codes(seen.indices, words))
    kept = few[np.lexsort((-ratio[few], -count[few]))[:MOST_ENTRIES]]
    values = np.column_stack([ratio, cosine])
    return _packed(seen.indices[kept], code[kept], values[kept], words)


def _titles(vocabulary: Vocabulary, labels: Ints, titles: Examples, words: int) -> InvertedIndex:
    """Index the words of titles by the largest share that each has of one of a code's titles."""
    matrix = titles.vectors(vocabulary, words).tocoo()
    rarity = vocabulary.rarity[:words].astype(np.float64)[matrix.col]
    whole = np.bincount(matrix.row, rarity, len(titles))
    share, code, word = rarity / whole[matrix.row], labels[matrix.row], matrix.col
    order = np.lexsort((-share, word, code))
    first = order[np.flatnonzero(np.diff(code[order] * words + word[order], prepend=-1))]
    share, code, word = share[first], code[first], word[first]
    kept = _of_few_codes(word, words)
    return _packed(word[kept], code[kept], share[kept, None], words)


def _of_few_codes(words: Ints, count: int) -> Bools:
    """Return which entries are of words with at most `MOST_CODES` codes."""
    few: Bools = np.bincount(words, minlength=count)[words] <= MOST_CODES
    return few


def _packed(word: Ints, code: Ints, values: Floats, words: int) -> InvertedIndex:
    """Return the entries by word, each value in one byte."""
    order = np.lexsort((code, word))
    scales = values.max(axis=0, initial=1e-9) / LEVELS
    return InvertedIndex(
        np.bincount(word, minlength=words).astype(np.uint8),
        code[order].astype(np.uint16 if code.max(initial=0) < 2**16 else np.uint32),
        np.maximum(np.rint(values[order] / scales), 1).astype(np.uint8),
        scales.astype(np.float32),
    )


FOLDS = 5
"""Parts into which the sources of the texts are divided, to judge each as if it were unknown."""

DOUBTED = 0.3
"""What a code that the expert was not shown counts, as a wrong one."""

WANTED = 0.85
"""The share of codes accepted for which the threshold of `ok` is chosen."""

FEWEST = 20
"""Texts from which such a threshold can be told."""


def lister(task: Task, whole: bool, model: Model) -> Lister:
    """Return what lists the best codes of the finished (``whole``) or the first model."""
    examples, scorer = task.examples(whole), own(model)
    general = [is_general(task.system, code) for code in examples.codes.tolist()]
    specific = examples.where(~np.array(general, np.bool_))
    words = build(scorer.encoder.vocabulary, scorer.codes, specific, task.phrases)
    return Lister.of(words, model.codes, scorer.prior)


def judge(
    model: Model,
    listed: Lister,
    voices: Mapping[System, Voice],
    judged: Sequence[Judgement],
    cosines: Floats | None = None,
) -> tuple[Acceptance, dict[str, Any]]:
    """Return what judges the best codes of a model, and how well it does.

    Args:
        model: a model that did not learn from the judged texts.
        listed: lists its best codes.
        voices: what the general model says of each system.
        judged: the judged texts. Those of each source are judged by what the others teach, which
            gives the figures and the calibration.
        cosines: judged texts x candidates, how near the titles are in meaning, by vectors that
            learned from no verdict on the text's source; None for a model without such vectors.
    """
    system = model.system
    some = [each for each in judged if system in each.verdicts]
    texts, verdicts = [each.text for each in some], [each.verdicts[system] for each in some]
    table = load(system)
    titles = (
        readable(title) for language in titles_by_language(table) for title in language if title
    )
    words = TitleWords(table, _rare(titles), _rare(map(cleaned, texts)))
    evidence = Evidence.of(system, listed, words, voices)
    found, traits = _traits(model, evidence, texts)
    lessons = Lessons.of(system, traits, listed.codes[found], verdicts)
    sets = _sets(lessons, cosines)
    sources = [each.source for each in some]
    unseen = np.mean([_unseen(own, sources, seed) for own, seed in sets], axis=0)
    best = unseen.argmax(axis=1)
    rows = np.arange(len(best))
    known = lessons.known[rows, best]
    right, odds = lessons.right[rows, best], unseen[rows, best]
    # Of ten codes, the best looks better than it is; the line through the odds takes that back.
    start, slope = logistic(odds[known, None], right[known], 1.0).tolist()
    chances = probability(slope * odds + start)
    trees = mean_of([own.learned(slice(None), seed) for own, seed in sets])
    acceptance = Acceptance(evidence, trees, slope, start)
    blank = np.array([each.unknowable for each in verdicts])
    return acceptance, _figures(chances, right, known, blank)


NEAR_SETS = 3
"""Sets of trees that see how near the titles are in meaning, beside one that does not: trees that
all see it are worse on short texts in other languages."""


def _sets(lessons: Lessons, cosines: Floats | None) -> list[tuple[Lessons, int]]:
    """Return what each set of trees learns from, and its seed."""
    if cosines is None:
        return [(lessons, 0)]
    near = np.stack([cosines, cosines - cosines.max(axis=1, keepdims=True)], axis=2)
    without, seen = lessons.traits.copy(), lessons.traits.copy()
    without[:, :, -2:], seen[:, :, -2:] = 0, near
    blind, sighted = replace(lessons, traits=without), replace(lessons, traits=seen)
    return [(blind, 0), *((sighted, seed) for seed in range(NEAR_SETS))]


def mean_of(some: Sequence[Trees]) -> Trees:
    """Return trees whose sum is the mean of those of some, but for rounding."""
    return Trees(
        np.concatenate([each.features for each in some]),
        np.concatenate([each.thresholds for each in some]),
        np.concatenate([np.rint(each.leaves / len(some)).astype(np.int16) for each in some]),
        float(np.mean([each.start for each in some])),
    )


def _rare(texts: Iterable[str]) -> Floats:
    """Return how rare stems are, as a model stores it."""
    return RARITY_STEP * rarity_levels(rarities(map(stems, texts)))


def _traits(model: Model, evidence: Evidence, texts: Sequence[str]) -> tuple[Ints, Floats]:
    found, traits = [], []
    for portion in portions(texts):
        read = reading(portion)
        shares, _ = model.shares(read)
        places, some = evidence.traits(shares, read, model.own_vectors(read))
        found.append(places)
        traits.append(some)
    return np.concatenate(found), np.concatenate(traits)


@dataclass(frozen=True, slots=True, eq=False)
class Lessons:
    """The candidates of some texts.

    Attributes:
        system: whose codes they are.
        traits: texts x candidates x traits.
        right: texts x candidates: whether they are accepted.
        known: texts x candidates: whether the expert was shown them.
    """

    system: System
    traits: Floats
    right: Bools
    known: Bools

    @classmethod
    def of(
        cls, system: System, traits: Floats, codes: Texts, verdicts: Sequence[Verdict]
    ) -> Lessons:
        """Return the candidates with what the verdicts on each text say of their codes."""
        rows = list(zip(codes.tolist(), verdicts, strict=True))
        right = [[code in verdict.accepted for code in own] for own, verdict in rows]
        known = [
            [verdict.unknowable or code in verdict.accepted | verdict.refused for code in own]
            for own, verdict in rows
        ]
        return cls(system, traits, np.array(right), np.array(known))

    def learned(self, some: Bools | slice, seed: int = 0) -> Trees:
        """Return trees that learned from some texts."""
        width = self.traits.shape[2]
        weights = np.where(self.known[some], 1.0, DOUBTED).ravel()
        rows = self.traits[some].reshape(-1, width)
        return boosted(rows, self.right[some].ravel(), weights, seed)

    def odds(self, trees: Trees, some: Bools) -> Floats:
        """Return the log odds that candidates of some texts are accepted."""
        return log_odds(self.system, trees, self.traits[some])


def _unseen(lessons: Lessons, sources: Sequence[str], seed: int = 0) -> Floats:
    """Return the log odds of the candidates by trees that did not learn from their sources."""
    folds = source_folds(sources)
    odds = np.empty(lessons.right.shape)
    for fold in np.unique(folds):
        own = folds == fold
        odds[own] = lessons.odds(lessons.learned(~own, seed), own)
    return odds


def source_folds(sources: Sequence[str]) -> Ints:
    """Divide sources into folds of about equally many texts, the largest first."""
    names, number, counts = np.unique(sources, return_inverse=True, return_counts=True)
    fold, sizes = np.zeros(len(names), np.intp), np.zeros(FOLDS, np.intp)
    for place in np.argsort(-counts, kind="stable").tolist():
        fold[place] = sizes.argmin()
        sizes[fold[place]] += counts[place]
    return fold[number]


def _figures(chances: Floats, right: Bools, known: Bools, blank: Bools) -> dict[str, Any]:
    """Return what a model card says of the first codes, each judged as one of an unknown source."""
    told = known & ~blank
    order = np.argsort(-chances[told], kind="stable")
    sure, accepted = chances[told][order], np.cumsum(right[told][order])
    number = np.arange(1, len(order) + 1)
    enough = np.flatnonzero((accepted >= WANTED * number) & (number >= FEWEST))
    last = int(enough[-1]) if len(enough) else -1
    return {
        "texts": int(told.sum()),
        "accepted": round(float(right[told].mean()), 4),
        "calibration_error": round(calibration_error(chances[told], right[told]), 4),
        "through": round((last + 1) / max(1, len(order)), 4),
        "through_from": round(float(sure[last]), 4) if last >= 0 else None,
    }
