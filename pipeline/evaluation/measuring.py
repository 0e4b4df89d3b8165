"""Works out the figures of one subject from what was kept of its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from pipeline.codes import CodeTable
from pipeline.codes.levels import cut, full_code
from pipeline.engine.model.calibration import BINS, calibration_error
from pipeline.evaluation.labels import EXACT, Depth, broad
from pipeline.evaluation.metrics import (
    TOPS,
    Bin,
    DepthFigures,
    Figures,
    LanguageFigures,
    Pair,
    Point,
)
from pipeline.evaluation.scores import Scores
from pipeline.evaluation.shares import Share

__all__ = ["figures"]

PAIRS = 20
"""Confused pairs that are kept at each level."""

LANGUAGES = 40
"""Languages that are told apart, those with most rows; the others are counted together."""

COVERED = tuple(range(1, 101))
"""Per cent of the rows, the most confident ones, at which the accuracy is told."""

_Bools = npt.NDArray[np.bool_]
_Floats = npt.NDArray[np.float64]
_Ranks = npt.NDArray[np.uint8]


def figures(scores: Scores, table: CodeTable) -> Figures:
    """Work out the figures of one subject."""
    ranks = {depth: np.array(found, np.uint8) for depth, found in scores.ranks.items()}
    right = ranks[EXACT] == 1
    confidence = np.array(scores.confidence, np.float64)
    return Figures(
        rows=len(right),
        unanswered=Share(sum(scores.unanswered), len(right)),
        statuses=dict(scores.statuses.most_common()),
        depths=[DepthFigures(depth, _top(found)) for depth, found in ranks.items()],
        calibration_error=calibration_error(confidence, right),
        odd_confidences=scores.odd_confidences,
        bins=_bins(confidence, right),
        curve=_curve(confidence, right),
        confused=_confused(scores, table),
        languages=_languages(scores, ranks) if set(scores.tongues) - {""} else (),
    )


def _top(ranks: _Ranks) -> dict[int, Share]:
    return {top: Share(int(((ranks > 0) & (ranks <= top)).sum()), len(ranks)) for top in TOPS}


def _bins(confidence: _Floats, right: _Bools) -> list[Bin]:
    tenth = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    bins = []
    for place in range(BINS):
        here = tenth == place
        mean = float(confidence[here].mean()) if here.any() else None
        share = Share(int(right[here].sum()), int(here.sum()))
        bins.append(Bin(place / BINS, (place + 1) / BINS, mean, share))
    return bins


def _curve(confidence: _Floats, right: _Bools) -> list[Point]:
    order = np.argsort(-confidence, kind="stable")
    hits, least = np.cumsum(right[order]), confidence[order]
    points = []
    for percent in COVERED:
        rows = max(1, len(right) * percent // 100)
        share = Share(int(hits[rows - 1]), rows)
        points.append(Point(percent, float(least[rows - 1]), share))
    return points


def _confused(scores: Scores, table: CodeTable) -> dict[str, list[Pair]]:
    """Return the pairs at the level of two digits and at the full code."""
    system, level = scores.system, broad(scores.system)

    def general(code: str) -> str:
        return full_code(system, cut(system, code, level.digits))

    def itself(code: str) -> str:
        return code

    return {
        level.name: _pairs(scores, table, general),
        EXACT.name: _pairs(scores, table, itself),
    }


def _pairs(scores: Scores, table: CodeTable, shown: Callable[[str], str]) -> list[Pair]:
    counts: Counter[tuple[str, str]] = Counter()
    for (truth, answer), rows in scores.confused.items():
        counts[shown(truth), shown(answer)] += rows
    wrong = [(pair, rows) for pair, rows in counts.items() if pair[0] != pair[1]]
    wrong.sort(key=lambda found: (-found[1], found[0]))

    def title(code: str) -> str:
        return table.titles.get(code) or scores.titles.get(code, "")

    return [
        Pair(truth, title(truth), answer, title(answer), rows)
        for (truth, answer), rows in wrong[:PAIRS]
    ]


def _languages(scores: Scores, ranks: Mapping[Depth, _Ranks]) -> list[LanguageFigures]:
    spoken = np.array(scores.languages, np.intp)
    counts = np.bincount(spoken, minlength=len(scores.tongues))
    names = sorted(scores.tongues, key=lambda name: (-counts[scores.tongues[name]], name))
    groups: list[tuple[str | None, _Bools]] = [
        (name, spoken == scores.tongues[name]) for name in names[:LANGUAGES]
    ]
    if names[LANGUAGES:]:
        rare = np.isin(spoken, [scores.tongues[name] for name in names[LANGUAGES:]])
        groups.append((None, rare))
    unanswered = np.array(scores.unanswered, np.bool_)
    level = ranks[broad(scores.system)]
    return [
        LanguageFigures(
            name,
            _top(ranks[EXACT][rows]),
            _top(level[rows])[1],
            Share(int(unanswered[rows].sum()), int(rows.sum())),
        )
        for name, rows in groups
    ]
