"""The figures of one candidate: accuracy, calibration, confusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from pipeline.bands import Band
from pipeline.charts import FEWEST, Taken
from pipeline.decisions import Verdict
from pipeline.evaluation.depths import ACCEPTED, EXACT, STATED, Depth

__all__ = [
    "SOURCE_ROWS",
    "TOPS",
    "Bin",
    "DepthFigures",
    "Figures",
    "GroupFigures",
    "Headline",
    "Pair",
    "Point",
    "Share",
    "Z",
    "shown_depths",
    "shown_pairs",
]

TOPS = (1, 5, 10)

SOURCE_ROWS = 200
"""The fewest rows of a source whose calibration error is judged; that of fewer is mostly chance."""

FEWEST_SHOWN = 3
"""Pairs that are shown even if each occurs once."""

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


@dataclass(frozen=True, slots=True)
class DepthFigures:
    """How often the right code, as deep as this, is among the first 1, 5 and 10 answers."""

    depth: Depth
    top: Mapping[int, Share]


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


@dataclass(frozen=True, slots=True)
class Point:
    """The most confident rows.

    Attributes:
        percent: their share of all rows.
        confidence: the lowest confidence among them.
        right: the rows whose best code is right.
    """

    percent: int
    confidence: float
    right: Share


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
    """The rows of one language or one source.

    Attributes:
        name: as the table states it, "" where it states none; None for the rarest together.
        top: see `DepthFigures`; to the depth that is measured.
        broad: rows whose best code is right in its first two digits.
        unanswered: rows without a code.
        confidence: the mean confidence of the best codes.
        calibration_error: see `Figures`.
    """

    name: str | None
    top: Mapping[int, Share]
    broad: Share
    unanswered: Share
    confidence: float
    calibration_error: float

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.unanswered.rows


@dataclass(frozen=True, slots=True)
class Headline:
    """The three figures that come first, for the systems whose codes may be general.

    A CPV label such as 45000000 states a division and no more, so an exact match on it says
    little: a candidate that always gives bare divisions gets it right.

    Attributes:
        level: the most general level: ``division`` (CPV) or ``segment`` (UNSPSC).
        specific: of the rows whose label is deeper than that level, those whose best code is
            exactly right.
        stated: of all rows, those whose best code is right as far as the label states.
        bare: of the answered rows, those whose best code is a bare division or segment.
    """

    level: str
    specific: Share
    stated: Share
    bare: Share


@dataclass(frozen=True, slots=True)
class Figures:
    """How good a candidate is on some rows.

    Attributes:
        rows: how many there are.
        measured: to what depth a code must be right to count as right, in all figures that name no
            depth: see `pipeline.evaluation.depths.measured_depth`.
        headline: the figures that come first; None for PSC and NAICS.
        unanswered: the rows without a code.
        statuses: how many rows have each status, as in the output of ``run``.
        answer_levels: how many of the best codes are of each level, from the top.
        depths: from the full code up to the first level.
        bands: how many best codes in each band are right as far as the label states.
        calibration_error: expected calibration error of the best code, over ten bins.
        odd_confidences: best codes whose confidence is no fraction from 0 to 1.
        bins: the tenths of the scale of confidence.
        curve: the accuracy of the most confident rows.
        confused: by the name of a level, the pairs confused most often.
        languages: those with most rows first; none without a column that names them.
        sources: the same by source.
        verdicts: how many best codes people found right, too general and wrong, of those that they
            judged, and how many they did not judge; None for a labelled table. With verdicts, right
            means accepted, also in the calibration, the curve and the bands.
    """

    rows: int
    measured: Depth
    headline: Headline | None
    unanswered: Share
    statuses: Mapping[str, int]
    answer_levels: Mapping[str, int]
    depths: Sequence[DepthFigures]
    bands: Mapping[Band, Share]
    calibration_error: float
    odd_confidences: int
    bins: Sequence[Bin]
    curve: Sequence[Point]
    confused: Mapping[str, Sequence[Pair]]
    languages: Sequence[GroupFigures]
    sources: Sequence[GroupFigures]
    verdicts: Mapping[Verdict, Share] | None = None

    @property
    def right(self) -> Mapping[int, Share]:
        """How often the right code is among the first 1, 5 and 10."""
        return self.at(self.measured)

    @property
    def surest(self) -> list[Taken]:
        """The most confident rows, from few to many, with the share that is right."""
        points = [each for each in self.curve if each.right.rows >= FEWEST]
        return [Taken(each.right.rows, each.right.value, each.confidence) for each in points]

    @property
    def worst_source(self) -> GroupFigures | None:
        """The source with the largest calibration error, of those with `SOURCE_ROWS` or more."""
        large = [each for each in self.sources if each.rows >= SOURCE_ROWS and each.name]
        return max(large, key=lambda each: each.calibration_error, default=None)

    def at(self, depth: Depth) -> Mapping[int, Share]:
        """Return how often the right code, as deep as this, is among the first 1, 5 and 10."""
        return next(found.top for found in self.depths if found.depth == depth)


def shown_depths(figures: Figures) -> list[DepthFigures]:
    """Return the depths to show: those that the labels state.

    "As far as stated" is among them only if no other depth says the same.
    """
    if figures.measured == STATED:
        return [each for each in figures.depths if each.depth.digits in ("stated", 1, 2)]
    others = [found.top for found in figures.depths if found.depth in (ACCEPTED, EXACT)]
    return [found for found in figures.depths if found.depth != STATED or found.top not in others]


def shown_pairs(pairs: Sequence[Pair], most: int) -> Sequence[Pair]:
    """Return the pairs to show: those that occur more than once, or a few of the others."""
    habits = [pair for pair in pairs[:most] if pair.rows > 1]
    return habits if len(habits) >= FEWEST_SHOWN else pairs[: min(most, FEWEST_SHOWN)]
