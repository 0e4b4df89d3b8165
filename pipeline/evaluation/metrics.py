"""The figures of one subject, computed from its answers: accuracy, calibration, confusions."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from sys import intern
from typing import Literal

import numpy as np
import numpy.typing as npt

from pipeline.answers import BANDS, Answer, Band, Matched, System, band
from pipeline.classification.columns import status
from pipeline.codes import CodeTable, normalized
from pipeline.codes.table import cut, full_code, levels_above, stem
from pipeline.decisions.decision_file import Decision, Verdict
from pipeline.engine.model.acceptance import BINS, calibration_error
from pipeline.pages import FEWEST, Taken, most_taken
from pipeline.settings import MAX_TOP


@dataclass(frozen=True, slots=True)
class Depth:
    """How much of a code must be right.

    Attributes:
        name: its name in reports and in the JSON.
        digits: how many leading digits count: a number, ``all``, or as many as the label states.
    """

    name: str
    digits: int | Literal["all", "stated"]

    def rank(self, system: System, truth: str, answers: Sequence[str]) -> int:
        """Return the rank of the first answer that is right to this depth, from 1; 0 if none is."""
        if not truth:
            return 0
        if self.digits == "all":
            return answers.index(truth) + 1 if truth in answers else 0
        digits = len(stem(system, truth)) if self.digits == "stated" else self.digits
        right = cut(system, truth, digits)
        for rank, answer in enumerate(answers, start=1):
            if cut(system, answer, digits) == right:
                return rank
        return 0


ACCEPTED = Depth("accepted", "all")
"""What people accept is right: see `Decision.verdict` in `pipeline.decisions.decision_file`."""

EXACT = Depth("full code", "all")
STATED = Depth("as far as stated", "stated")
"""A label 45000000 states a division: any code of division 45 is right."""


def depths(system: System) -> Sequence[Depth]:
    """Return the depths that are measured, from the whole code up to the first level."""
    levels = [Depth(name, digits) for digits, name in levels_above(system).items()]
    return [EXACT, STATED, *reversed(levels)]


def broad(system: System) -> Depth:
    """Return the level of two digits: division, group, segment or sector."""
    return next(depth for depth in depths(system) if depth.digits == 2)


def is_bare(system: System, code: str) -> bool:
    """Return whether a code is no deeper than a division, group, segment or sector."""
    return len(stem(system, code)) <= 2


def measured_depth(system: System, labels: Iterable[str]) -> Depth:
    """Return to what depth a code must be right to count as right: the full code.

    If no label is deeper than a division (segment, ...), nobody knows the full codes, and answers
    are right as far as the labels state.
    """
    return STATED if all(is_bare(system, label) for label in labels) else EXACT


@dataclass(slots=True)
class Scores:
    """A subject's answers compared with the labels, row by row.

    Attributes:
        system: whose codes they are.
        ranks: for each depth, the one that says what is right first, the rank of the first match
            that is right to that depth, from 1; 0 where none of the first ten is.
        confidence: of the best match, as stated; 0 without one.
        statuses: how many rows have each status, as in the output of ``run``.
        labels: the code that the table states.
        best: the code of the best match; "" without one.
        sources: the row's source; "" where the table names none.
        titles: the subject's titles for the codes in `best`.
        verdicts: what people decided about the best match; empty for a labelled table.
    """

    system: System
    ranks: dict[Depth, array[int]] = field(init=False)
    confidence: array[float] = field(default_factory=lambda: array("d"))
    statuses: Counter[str] = field(default_factory=Counter)
    labels: list[str] = field(default_factory=list)
    best: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ranks = {depth: array("B") for depth in depths(self.system)}

    @property
    def measured(self) -> Depth:
        """To what depth a code must be right to count as right."""
        return ACCEPTED if self.verdicts else measured_depth(self.system, self.labels)

    def add(
        self,
        answers: Sequence[Answer | None],
        labels: Sequence[str],
        sources: Sequence[str],
        decided: Sequence[Decision | None] = (),
    ) -> None:
        """Add the answers of some rows, with the decision about each if there are any."""
        if decided and ACCEPTED not in self.ranks:
            self.ranks = {ACCEPTED: array("B"), **self.ranks}
        decisions = decided or [None] * len(labels)
        for answer, label, decision in zip(answers, labels, decisions, strict=True):
            self.statuses[status(answer, 0.0)] += 1
            self._add(answer, label, decision)
        # One string object for each distinct value: a row then takes one pointer.
        self.labels += map(intern, labels)
        self.sources += map(intern, sources)

    def _add(self, answer: Answer | None, label: str, decision: Decision | None) -> None:
        matches = answer.matches[:MAX_TOP] if isinstance(answer, Matched) else ()
        codes = [normalized(self.system, match.code) or match.code for match in matches]
        if ACCEPTED in self.ranks:
            verdicts = [decision.verdict(code) if decision else "unjudged" for code in codes]
            self.verdicts.append(verdicts[0] if verdicts else "wrong")
            rank = verdicts.index("accepted") + 1 if "accepted" in verdicts else 0
            self.ranks[ACCEPTED].append(rank)
        for depth in depths(self.system):
            self.ranks[depth].append(depth.rank(self.system, label, codes))
        self.confidence.append(matches[0].confidence if matches else 0.0)
        self.best.append(intern(codes[0]) if codes else "")
        if codes:
            self.titles.setdefault(codes[0], matches[0].title)


TOPS = (1, 5, 10)

FEW = 20
"""Of fewer rows, reports state counts and not shares, and draw no conclusions from them."""

Z = 1.959963984540054
"""Standard deviations within which 95 % of a normal distribution lie."""


@dataclass(frozen=True, slots=True)
class Share:
    """The share of some rows that have a property.

    Attributes:
        hits: the rows that have it.
        rows: all rows.
    """

    hits: int
    rows: int

    @property
    def value(self) -> float:
        """The share; 0 of no rows."""
        return self.hits / self.rows if self.rows else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval at 95 % (E. B. Wilson, 1927); 0 to 1 for no rows."""
        if not self.rows:
            return 0.0, 1.0
        weight = Z * Z / self.rows
        middle = (self.value + weight / 2) / (1 + weight)
        spread = self.value * (1 - self.value) / self.rows + weight / (4 * self.rows)
        half = Z * sqrt(spread) / (1 + weight)
        low = 0.0 if not self.hits else max(0.0, middle - half)
        high = 1.0 if self.hits == self.rows else min(1.0, middle + half)
        return low, high

    def __str__(self) -> str:
        """Write the share: ``41.3 %``, of few rows ``2 of 3``, ``-`` of none."""
        if not self.rows:
            return "-"
        return f"{self.hits} of {self.rows}" if self.rows < FEW else percent(self.value)


def percent(share: float) -> str:
    """Write a share: ``41.3 %``."""
    return f"{share:.1%}".replace("%", " %")


@dataclass(frozen=True, slots=True)
class Bin:
    """The rows whose confidence lies in one tenth of the scale.

    Attributes:
        low: the lower end of the tenth.
        high: its upper end.
        confidence: the rows' mean confidence; None without rows.
        right: the rows whose best code is right.
    """

    low: float
    high: float
    confidence: float | None
    right: Share

    @property
    def name(self) -> str:
        """The tenth: ``80 to 90 %``."""
        return f"{100 * self.low:.0f} to {100 * self.high:.0f} %"


@dataclass(frozen=True, slots=True)
class Pair:
    """A right code, the wrong best code that rows got instead, and how many rows."""

    truth: str
    truth_title: str
    answer: str
    answer_title: str
    rows: int


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The rows of one source.

    Attributes:
        name: as the table states it, "" where it states none.
        top: how often the right code is among the first 1, 5 and 10, to the depth that is measured.
        broad: rows whose best code is right in its first two digits.
        confidence: the mean confidence of the best codes.
    """

    name: str
    top: Mapping[int, Share]
    broad: Share
    confidence: float


@dataclass(frozen=True, slots=True)
class Figures:
    """How good a subject is on some rows.

    Attributes:
        rows: how many there are.
        measured: to what depth a code must be right to count as right, in all figures that name no
            depth: see `pipeline.evaluation.metrics.measured_depth`.
        specific: of the rows whose label is deeper than a division (segment), those whose best code
            is exactly right; None for PSC and NAICS. An exact match on a label such as 45000000
            says little: a subject that always gives bare divisions gets it right.
        bare: of the answered rows, those whose best code is a bare division (segment); or None.
        unanswered: the rows without a code.
        statuses: how many rows have each status, as in the output of ``run``.
        depths: how often the right code, as deep as this, is among the first 1, 5 and 10 answers;
            from the full code up to the first level.
        bands: how many best codes in each band are right as far as the label states.
        calibration_error: expected calibration error of the best code, over ten bins.
        odd_confidences: best codes whose confidence is no fraction; it counts as 0 or 1.
        bins: the tenths of the scale of confidence.
        surest: the most confident rows, from few to many; none of so few that it says nothing.
        confused: by the name of a level, the pairs confused most often.
        sources: those with most rows first; none without a column that names them.
        verdicts: how many best codes people found right, too general and wrong, of those that they
            judged, and how many they did not judge; None for a labelled table. With verdicts, right
            means accepted, also in the calibration, the surest rows and the bands.
    """

    rows: int
    measured: Depth
    specific: Share | None
    bare: Share | None
    unanswered: Share
    statuses: Mapping[str, int]
    depths: Mapping[Depth, Mapping[int, Share]]
    bands: Mapping[Band, Share]
    calibration_error: float
    odd_confidences: int
    bins: Sequence[Bin]
    surest: Sequence[Taken]
    confused: Mapping[str, Sequence[Pair]]
    sources: Sequence[GroupFigures]
    verdicts: Mapping[Verdict, Share] | None = None

    @property
    def right(self) -> Mapping[int, Share]:
        """How often the right code is among the first 1, 5 and 10."""
        return self.depths[self.measured]

    @property
    def broad(self) -> Depth:
        """The level of two digits: division, group, segment or sector."""
        return next(depth for depth in self.depths if depth.digits == 2)

    @property
    def judged(self) -> int:
        """The rows of which it is known whether their best code is right."""
        return sum(bin_.right.rows for bin_ in self.bins)

    def coverage(self, accuracy: float) -> dict[str, float | None]:
        """Return how many rows can go through without a look; see `pipeline.Evaluation.coverage`.

        Without any such rows, the confidence and the share that is right are None.
        """
        most = most_taken(self.surest, accuracy) or Taken(0, 0.0, None)
        return {
            "accuracy": accuracy,
            "min_confidence": most.confidence,
            "rows": most.rows,
            "share": most.rows / self.judged,
            "right": most.share if most.rows else None,
        }


def shown_depths(figures: Figures) -> list[Depth]:
    """Return the depths to show: those that the labels state.

    "As far as stated" is among them only if no other depth says the same.
    """
    if figures.measured == STATED:
        return [depth for depth in figures.depths if depth.digits in ("stated", 1, 2)]
    other_depths = [top for depth, top in figures.depths.items() if depth in (ACCEPTED, EXACT)]
    return [
        depth for depth, top in figures.depths.items() if depth != STATED or top not in other_depths
    ]


PAIRS = 20
"""Confused pairs that are kept at each level."""

_Bools = npt.NDArray[np.bool_]
_Floats = npt.NDArray[np.float64]
_Ranks = npt.NDArray[np.uint8]


def figures(scores: Scores, table: CodeTable) -> Figures:
    """Return the figures of one subject."""
    ranks = {depth: np.array(found_ranks, np.uint8) for depth, found_ranks in scores.ranks.items()}
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
        depths={depth: _top(found_ranks) for depth, found_ranks in ranks.items()},
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
    judged = np.array(
        [verdict != "unjudged" for verdict in scores.verdicts] or [True] * len(scores.best)
    )
    return judged if judged.any() else ~judged


def _verdicts(scores: Scores, judged: int) -> dict[Verdict, Share] | None:
    if not scores.verdicts:
        return None
    counts = Counter(scores.verdicts)
    rows: dict[Verdict, int] = dict.fromkeys(("accepted", "general", "wrong"), judged)
    return {
        verdict: Share(counts[verdict], of)
        for verdict, of in (rows | {"unjudged": len(scores.best)}).items()
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
    answered = zip(scores.best, scores.confidence, strict=True)
    bands = np.array([band(stated) if code else "" for code, stated in answered])[judged]
    here = {name: bands == name for name in BANDS}
    return {name: Share(int(right[rows].sum()), int(rows.sum())) for name, rows in here.items()}


def _bins(confidence: _Floats, right: _Bools) -> list[Bin]:
    tenth = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    bins = []
    for bin_ in range(BINS):
        here = tenth == bin_
        mean = float(confidence[here].mean()) if here.any() else None
        share = Share(int(right[here].sum()), int(here.sum()))
        bins.append(Bin(bin_ / BINS, (bin_ + 1) / BINS, mean, share))
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
    wrong.sort(key=lambda counted: (-counted[1], counted[0]))
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
