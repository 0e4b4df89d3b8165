"""Learns from notices that an expert judged how likely the best codes of a text are accepted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.answers import System
from pipeline.codes import load, titles_by_language
from pipeline.engine.model.acceptance import Acceptance, Evidence, Voice
from pipeline.engine.model.arrays import Bools, Floats, Ints, Texts
from pipeline.engine.model.calibration import calibration_error, logistic, probability
from pipeline.engine.model.candidates import Lister
from pipeline.engine.model.encoder import portions
from pipeline.engine.model.general_codes import is_general
from pipeline.engine.model.model import Model
from pipeline.engine.model.reading import reading
from pipeline.engine.model.stored import own
from pipeline.engine.model.title_words import (
    RARITY_STEP,
    TitleWords,
    rarities,
    rarity_levels,
    stems,
)
from pipeline.engine.model.trees import Trees
from pipeline.engine.text.cleaning import cleaned, readable
from pipeline.engine.training.boosting import boosted
from pipeline.engine.training.judgements import Judgement, Verdict
from pipeline.engine.training.task import Task
from pipeline.engine.training.word_index import build

__all__ = ["judge", "lister"]

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
    model: Model, listed: Lister, voices: Mapping[System, Voice], judged: Sequence[Judgement]
) -> tuple[Acceptance, dict[str, Any]]:
    """Return what judges the best codes of a model, and how well it does.

    Args:
        model: a model that did not learn from the judged texts.
        listed: lists its best codes.
        voices: what the general model says of each system.
        judged: the judged texts. Those of each source are judged by what the others teach, which
            gives the figures and the calibration.
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
    lessons = _Lessons.of(traits, listed.codes[found], verdicts)
    unseen = _unseen(lessons, [each.source for each in some])
    best = unseen.argmax(axis=1)
    rows = np.arange(len(best))
    known = lessons.known[rows, best]
    right, odds = lessons.right[rows, best], unseen[rows, best]
    # Of ten codes, the best looks better than it is; the line through the odds takes that back.
    start, slope = logistic(odds[known, None], right[known], 1.0).tolist()
    chances = probability(slope * odds + start)
    acceptance = Acceptance(evidence, lessons.learned(slice(None)), slope, start)
    blank = np.array([each.unknowable for each in verdicts])
    return acceptance, _figures(chances, right, known, blank)


def _rare(texts: Iterable[str]) -> Floats:
    """Return how rare stems are, as a model stores it."""
    return RARITY_STEP * rarity_levels(rarities(map(stems, texts)))


def _traits(model: Model, evidence: Evidence, texts: Sequence[str]) -> tuple[Ints, Floats]:
    found, traits = [], []
    for portion in portions(texts):
        read = reading(portion)
        shares, _ = model.shares(read)
        places, some = evidence.traits(shares, read, *model.beside_shares(read))
        found.append(places)
        traits.append(some)
    return np.concatenate(found), np.concatenate(traits)


@dataclass(frozen=True, slots=True, eq=False)
class _Lessons:
    """The candidates of some texts.

    Attributes:
        traits: texts x candidates x traits.
        right: texts x candidates: whether they are accepted.
        known: texts x candidates: whether the expert was shown them.
    """

    traits: Floats
    right: Bools
    known: Bools

    @classmethod
    def of(cls, traits: Floats, codes: Texts, verdicts: Sequence[Verdict]) -> _Lessons:
        rows = list(zip(codes.tolist(), verdicts, strict=True))
        right = [[code in verdict.accepted for code in own] for own, verdict in rows]
        known = [
            [verdict.unknowable or code in verdict.accepted | verdict.refused for code in own]
            for own, verdict in rows
        ]
        return cls(traits, np.array(right), np.array(known))

    def learned(self, some: Bools | slice) -> Trees:
        width = self.traits.shape[2]
        weights = np.where(self.known[some], 1.0, DOUBTED).ravel()
        rows = self.traits[some].reshape(-1, width)
        return boosted(rows, self.right[some].ravel(), weights)

    def odds(self, trees: Trees, some: Bools) -> Floats:
        rows = self.traits[some]
        return trees.odds(rows.reshape(-1, rows.shape[2])).reshape(rows.shape[:2])


def _unseen(lessons: _Lessons, sources: Sequence[str]) -> Floats:
    """Return the log odds of the candidates by trees that did not learn from their sources."""
    folds = _folds(sources)
    odds = np.empty(lessons.right.shape)
    for fold in np.unique(folds):
        own = folds == fold
        odds[own] = lessons.odds(lessons.learned(~own), own)
    return odds


def _folds(sources: Sequence[str]) -> Ints:
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
