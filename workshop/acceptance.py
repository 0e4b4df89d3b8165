"""Learns from notices that an expert judged how likely the best codes of a text are accepted."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.codes import load, titles_by_language
from pipeline.engine.model.acceptance import (
    LENGTHS,
    TRAITS,
    Acceptance,
    Evidence,
    Trees,
    calibration_error,
    log_odds,
    logistic,
    probability,
)
from pipeline.engine.model.candidates import (
    LEVELS,
    MOST_CODES,
    SMOOTHING,
    InvertedIndex,
    Lister,
    WordIndex,
)
from pipeline.engine.model.encoder import Scorer, encode_batch, portions
from pipeline.engine.model.features import BITS, Vocabulary
from pipeline.engine.model.matrices import Bools, Floats, Ints, Texts
from pipeline.engine.model.model import Model, is_general
from pipeline.engine.model.title_words import (
    RARITY_STEP,
    STEMS,
    TitleWords,
    rarity_levels,
    stems,
)
from pipeline.engine.text.cleaning import cleaned, readable
from pipeline.engine.training.dataset import Examples
from pipeline.engine.training.task import Task
from pipeline.errors import InputError
from workshop.boosting import boosted


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


NO_VERDICT = Verdict(frozenset(), frozenset(), unknowable=True)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A text, the collection that it is from, and what an expert says of its codes.

    Attributes:
        is_notice: whether figures and the calibration are of texts like this one.
    """

    text: str
    source: str
    verdicts: Mapping[System, Verdict]
    is_notice: bool = True


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


RATES = slice(TRAITS - len(LENGTHS), TRAITS)
NEARNESS = slice(TRAITS - len(LENGTHS) - 2, TRAITS - len(LENGTHS))
"""The traits that say how often such codes are accepted, and how near their titles are."""

BELIEF = 10.0
"""How many verdicts the rate of a shorter beginning stands for."""

FOLDS = 5
"""Parts into which the sources of the texts are divided, to judge each as if it were unknown."""

DOUBTED = 0.3
"""What a code that the expert was not shown counts, as a wrong one."""

OF_DESCRIPTIONS = 0.6
"""What a description counts beside a notice. With 1, PSC is sure of fewer codes of notices: .39
instead of .40 reach the confidence from which 85 in 100 are accepted."""

WANTED = 0.85
"""The share of codes accepted for which the threshold of `ok` is chosen."""

FEWEST = 20
"""Texts from which such a threshold can be told."""


def lister(task: Task, whole: bool, model: Model) -> Lister:
    """Return what lists the best codes of the finished (``whole``) or the first model."""
    examples, scorer = task.examples(whole), model.own
    general = [is_general(task.system, code) for code in examples.codes.tolist()]
    specific = examples.where(~np.array(general, np.bool_))
    words = build(scorer.encoder.vocabulary, scorer.codes, specific, task.phrases)
    return Lister.of(words, model.codes, scorer.prior)


def judge(
    model: Model,
    listed: Lister,
    scorers: Mapping[System, Scorer],
    judged: Sequence[Judgement],
    cosines: Floats | None = None,
) -> tuple[Acceptance, dict[str, Any]]:
    """Return what judges the best codes of a model, and how well it does.

    Args:
        model: a model that did not learn from the judged texts.
        listed: lists its best codes.
        scorers: those of the general model, by system.
        judged: the judged texts. Those of each source are judged by what the others teach, which
            gives the figures and the calibration.
        cosines: judged texts x candidates, how near the titles are in meaning, by vectors that
            learned from no verdict on the text's source; None for a model without such vectors.
    """
    system = model.system
    has = np.array([system in each.verdicts for each in judged])
    some = [*compress(judged, has)]
    texts = [each.text for each in some]
    table = load(system)
    titles = (
        readable(title) for language in titles_by_language(table) for title in language if title
    )
    words = TitleWords(table, _rare(titles), _rare(map(cleaned, texts)))
    known = np.zeros((len(scorers[system].codes), len(LENGTHS)), np.float32)
    evidence = Evidence.of(system, listed, words, scorers, known)
    found, traits = _traits(model, evidence, texts)
    if cosines is not None:
        near = cosines[has]
        near = np.stack([near, near - near.max(axis=1, keepdims=True)], axis=2)
        traits[:, :, NEARNESS] = near
    lessons = Lessons.of(system, traits, listed.codes[found], some)
    unseen = _unseen(lessons, source_folds([each.source for each in some]))
    rows = np.flatnonzero([each.is_notice for each in some])
    best = unseen[rows].argmax(axis=1)
    shown, right, odds = (each[rows, best] for each in (lessons.known, lessons.right, unseen))
    # Of ten codes, the best looks better than it is; the line through the odds takes that back.
    start, slope = logistic(odds[shown, None], right[shown], 1.0).tolist()
    chances = probability(slope * odds + start)
    everything = np.ones(len(some), np.bool_)
    trees = lessons.learned(everything)
    evidence = replace(evidence, rates=lessons.rates(everything, scorers[system].codes))
    blank = np.array([some[row].verdicts[system].unknowable for row in rows])
    return Acceptance(evidence, trees, slope, start), _figures(chances, right, shown, blank)


def _rare(texts: Iterable[str]) -> Floats:
    """Return how rare each stem is: the log of the texts divided by those that have it, rounded."""
    counts, number = np.zeros(STEMS), 0
    for text in texts:
        counts[stems(text)] += 1
        number += 1
    rarity = np.log((number + 1) / (counts + 1)).astype(np.float32)
    return RARITY_STEP * rarity_levels(rarity)


def _traits(model: Model, evidence: Evidence, texts: Sequence[str]) -> tuple[Ints, Floats]:
    found, traits = [], []
    for portion in portions(texts):
        read = encode_batch(portion)
        shares, _ = model.listed(read)
        places, some = evidence.traits(shares, read, model.own_words(read))
        found.append(places)
        traits.append(some)
    return np.concatenate(found), np.concatenate(traits)


@dataclass(frozen=True, slots=True, eq=False)
class Lessons:
    """The candidates of some texts.

    Attributes:
        system: whose codes they are.
        traits: texts x candidates x traits; those of `RATES` are filled in for what is learned.
        codes: texts x candidates.
        right: texts x candidates: whether they are accepted.
        known: texts x candidates: whether the expert was shown them.
        sources: the number of each text's source.
        counts: how much each text counts.
    """

    system: System
    traits: Floats
    codes: Texts
    right: Bools
    known: Bools
    sources: Ints
    counts: Floats

    @classmethod
    def of(
        cls,
        system: System,
        traits: Floats,
        codes: Texts,
        judged: Sequence[Judgement],
    ) -> Lessons:
        """Return the candidates with what the verdicts on each text say of their codes."""
        verdicts = [each.verdicts.get(system, NO_VERDICT) for each in judged]
        rows = list(zip(codes.tolist(), verdicts, strict=True))
        right = [[code in verdict.accepted for code in own] for own, verdict in rows]
        known = [
            [verdict.unknowable or code in verdict.accepted | verdict.refused for code in own]
            for own, verdict in rows
        ]
        sources = np.unique([each.source for each in judged], return_inverse=True)[1]
        counts = np.array([1.0 if each.is_notice else OF_DESCRIPTIONS for each in judged])
        return cls(system, traits, codes, np.array(right), np.array(known), sources, counts)

    @property
    def weights(self) -> Floats:
        """How much each candidate counts."""
        return np.where(self.known, 1.0, DOUBTED) * self.counts[:, None]

    def learned(self, some: Bools) -> Trees:
        """Return trees that learned from some texts."""
        rows = self._informed(some, some)
        return boosted(rows, self.right[some].ravel(), self.weights[some].ravel())

    def odds(self, trees: Trees, of: Bools, some: Bools) -> Floats:
        """Return the log odds that candidates of texts are accepted, if some others are known."""
        rows = self._informed(of, some).reshape(-1, *self.traits.shape[1:])
        return log_odds(self.system, trees, rows)

    def rates(self, some: Bools, codes: Texts, sources: Ints | None = None) -> Floats:
        """Return codes x `LENGTHS`: the log odds that such codes are accepted.

        Verdicts on the source of a code's text do not count, as the text may be from any other.

        Args:
            some: the texts whose verdicts count.
            codes: the codes.
            sources: the source of each code's text; without any, it is an unknown one.
        """
        weights = np.where(some[:, None], self.weights, 0)
        accepted = weights * self.right
        unknown = int(self.sources.max()) + 1
        own = np.full(len(codes), unknown) if sources is None else sources
        rate = np.full(len(codes), (accepted.sum() + 1) / (weights.sum() + 2))
        found = []
        for length in LENGTHS:
            both = np.concatenate([self.codes.ravel(), codes]).astype(f"U{length}")
            numbers = np.unique(both, return_inverse=True)[1]
            shape = (unknown + 1, int(numbers.max()) + 1)
            known, asked = np.split(numbers, [self.codes.size])
            at = np.repeat(self.sources, self.codes.shape[1]) * shape[1] + known
            seen, hits = (
                np.bincount(at, each.ravel(), shape[0] * shape[1]).reshape(shape)
                for each in (weights, accepted)
            )
            of_others, hits_of_others = (
                each.sum(axis=0)[asked] - each[own, asked] for each in (seen, hits)
            )
            rate = (hits_of_others + BELIEF * rate) / (of_others + BELIEF)
            found.append(np.log(rate / (1 - rate)))
        return np.stack(found, axis=1).astype(np.float16).astype(np.float32)

    def _informed(self, of: Bools, some: Bools) -> Floats:
        """Return the traits of the candidates of texts, with the verdicts on some texts."""
        traits, width = self.traits[of], self.codes.shape[1]
        sources = np.repeat(self.sources[of], width)
        rates = self.rates(some, self.codes[of].ravel(), sources)
        traits[:, :, RATES] = rates.reshape(*traits.shape[:2], -1)
        rows: Floats = traits.reshape(-1, traits.shape[2])
        return rows


def _unseen(lessons: Lessons, folds: Ints) -> Floats:
    """Return the log odds of the candidates by what was learned from the other folds."""
    odds = np.empty(lessons.right.shape)
    for fold in np.unique(folds):
        own = folds == fold
        odds[own] = lessons.odds(lessons.learned(~own), own, ~own)
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
