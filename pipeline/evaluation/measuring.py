"""Computes the figures of one subject from what was kept of its answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from pipeline.answers import BANDS, Band, band
from pipeline.codes import CodeTable
from pipeline.codes.table import cut, full_code
from pipeline.decisions.decision import Verdict
from pipeline.engine.model.acceptance import BINS, calibration_error
from pipeline.evaluation.metrics import (
    ACCEPTED,
    EXACT,
    FEW,
    STATED,
    TOPS,
    Bin,
    Depth,
    Figures,
    GroupFigures,
    Pair,
    Scores,
    Share,
    broad,
    is_bare,
)
from pipeline.pages import FEWEST, Taken

PAIRS = 20
"""Confused pairs that are kept at each level."""

_Bools = npt.NDArray[np.bool_]
_Floats = npt.NDArray[np.float64]
_Ranks = npt.NDArray[np.uint8]


def figures(scores: Scores, table: CodeTable) -> Figures:
    """Return the figures of one subject."""
    ranks = {depth: np.array(found, np.uint8) for depth, found in scores.ranks.items()}
    judged = _judged(scores)
    measured = scores.measured
    right = (ranks[measured] == 1)[judged]
    stated = np.array(scores.confidence, np.float64)
    confidence = stated.clip(0, 1)[judged]
    wrong = (ranks[ACCEPTED if scores.verdicts else STATED] != 1).tolist()
    may_be_bare = broad(scores.system).name in ("division", "segment")
    return Figures(
        rows=len(judged),
        measured=measured,
        specific=_specific(scores) if may_be_bare else None,
        bare=_bare(scores) if may_be_bare else None,
        unanswered=Share(scores.best.count(""), len(judged)),
        statuses=dict(scores.statuses.most_common()),
        depths={depth: _top(found) for depth, found in ranks.items()},
        bands=_bands(scores, ranks, judged),
        calibration_error=calibration_error(confidence, right),
        odd_confidences=int(((stated < 0) | (stated > 1)).sum()),
        bins=_bins(confidence, right),
        surest=_surest(confidence, right),
        confused=_confused(scores, wrong, table),
        sources=_groups(scores, ranks),
        verdicts=_verdicts(scores, int(judged.sum())),
    )


def _judged(scores: Scores) -> _Bools:
    """Return which rows count: all, without those whose best code nobody has judged."""
    found = np.array([each != "unjudged" for each in scores.verdicts] or [True] * len(scores.best))
    return found if found.any() else ~found


def _verdicts(scores: Scores, judged: int) -> dict[Verdict, Share] | None:
    if not scores.verdicts:
        return None
    counts = Counter(scores.verdicts)
    rows: dict[Verdict, int] = dict.fromkeys(("accepted", "general", "wrong"), judged)
    return {
        each: Share(counts[each], of)
        for each, of in (rows | {"unjudged": len(scores.best)}).items()
    }


def _specific(scores: Scores) -> Share:
    rows = zip(scores.labels, scores.best, strict=True)
    right = [label == code for label, code in rows if not is_bare(scores.system, label)]
    return Share(sum(right), len(right))


def _bare(scores: Scores) -> Share:
    bare = [is_bare(scores.system, code) for code in scores.best if code]
    return Share(sum(bare), len(bare))


def _top(ranks: _Ranks) -> dict[int, Share]:
    return {top: Share(int(((ranks > 0) & (ranks <= top)).sum()), len(ranks)) for top in TOPS}


def _bands(scores: Scores, ranks: Mapping[Depth, _Ranks], judged: _Bools) -> dict[Band, Share]:
    right = (ranks[ACCEPTED if scores.verdicts else STATED] == 1)[judged]
    known = zip(scores.best, scores.confidence, strict=True)
    bands = np.array([band(stated) if code else "" for code, stated in known])[judged]
    here = {each: bands == each for each in BANDS}
    return {each: Share(int(right[rows].sum()), int(rows.sum())) for each, rows in here.items()}


def _bins(confidence: _Floats, right: _Bools) -> list[Bin]:
    tenth = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    bins = []
    for place in range(BINS):
        here = tenth == place
        mean = float(confidence[here].mean()) if here.any() else None
        share = Share(int(right[here].sum()), int(here.sum()))
        bins.append(Bin(place / BINS, (place + 1) / BINS, mean, share))
    return bins


def _surest(confidence: _Floats, right: _Bools) -> list[Taken]:
    """Return the most confident rows, in steps of one per cent of all."""
    if len(right) < FEW:
        return []
    order = np.argsort(-confidence, kind="stable")
    hits, least = np.cumsum(right[order]), confidence[order]
    counts = (len(right) * percent // 100 for percent in range(1, 101))
    return [
        Taken(rows, int(hits[rows - 1]) / rows, float(least[rows - 1]))
        for rows in counts
        if rows >= FEWEST
    ]


def _confused(scores: Scores, wrong: Sequence[bool], table: CodeTable) -> dict[str, list[Pair]]:
    """Return the confused pairs at the level of two digits and at the full code."""
    system, level = scores.system, broad(scores.system)
    rows = zip(scores.labels, scores.best, wrong, strict=True)
    pairs = Counter((label, best) for label, best, is_wrong in rows if label and best and is_wrong)

    def title(code: str) -> str:
        return table.titles.get(code) or scores.titles.get(code, "")

    return {
        level.name: _pairs(pairs, lambda code: full_code(system, cut(system, code, 2)), title),
        EXACT.name: _pairs(pairs, str, title),
    }


def _pairs(
    confused: Mapping[tuple[str, str], int],
    shown: Callable[[str], str],
    title: Callable[[str], str],
) -> list[Pair]:
    counts: Counter[tuple[str, str]] = Counter()
    for (label, answer), rows in confused.items():
        counts[shown(label), shown(answer)] += rows
    wrong = [(pair, rows) for pair, rows in counts.items() if pair[0] != pair[1]]
    wrong.sort(key=lambda found: (-found[1], found[0]))
    return [
        Pair(label, title(label), answer, title(answer), rows)
        for (label, answer), rows in wrong[:PAIRS]
    ]


def _groups(scores: Scores, ranks: Mapping[Depth, _Ranks]) -> Sequence[GroupFigures]:
    """Return the figures by source; none where the table names none."""
    rows_of: defaultdict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(scores.sources):
        rows_of[name].append(row)
    if not rows_of.keys() - {""}:
        return ()
    confidence = np.array(scores.confidence, np.float64).clip(0, 1)
    right, broadly = ranks[scores.measured], ranks[broad(scores.system)]
    return [
        GroupFigures(
            name, _top(right[rows]), _top(broadly[rows])[1], float(confidence[rows].mean())
        )
        for name, rows in sorted(rows_of.items(), key=lambda of: (-len(of[1]), of[0]))
    ]
