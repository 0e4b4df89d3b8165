"""The figures of one subject: how often it is right, how well it knows that, where it errs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.evaluation.labels import STATED, Depth
from pipeline.evaluation.shares import Share

__all__ = [
    "TOPS",
    "Bin",
    "DepthFigures",
    "Figures",
    "LanguageFigures",
    "Pair",
    "Point",
    "told_depths",
    "told_pairs",
]

TOPS = (1, 5, 10)

FEWEST_TOLD = 3
"""Pairs that are told even if each came once."""


@dataclass(frozen=True, slots=True)
class DepthFigures:
    """How often the right code, as deep as this, is among the first 1, 5 and 10 answers."""

    depth: Depth
    top: Mapping[int, Share]


@dataclass(frozen=True, slots=True)
class Bin:
    """The rows whose confidence lies in one tenth of the scale.

    Attributes:
        low: where the tenth begins.
        high: where it ends.
        confidence: the rows' mean; None without rows.
        right: how many of their first codes are right.
    """

    low: float
    high: float
    confidence: float | None
    right: Share


@dataclass(frozen=True, slots=True)
class Point:
    """The most confident rows.

    Attributes:
        percent: how many in a hundred they are.
        confidence: the least of them.
        right: how many of their first codes are right.
    """

    percent: int
    confidence: float
    right: Share


@dataclass(frozen=True, slots=True)
class Pair:
    """A right code, the wrong one that came first instead, and how often."""

    truth: str
    truth_title: str
    answer: str
    answer_title: str
    rows: int


@dataclass(frozen=True, slots=True)
class LanguageFigures:
    """The rows of one language; "" where none is named, None for the rarest together.

    Attributes:
        language: as the table names it.
        top: see `DepthFigures`; of the full code.
        broad: rows whose first code is right in its first two digits.
        unanswered: rows without a code.
    """

    language: str | None
    top: Mapping[int, Share]
    broad: Share
    unanswered: Share


@dataclass(frozen=True, slots=True)
class Figures:
    """How good a subject is on some rows.

    Attributes:
        rows: the rows.
        unanswered: those of them without a code.
        statuses: what became of them, as in the output of ``run``.
        depths: from the full code up to the first level.
        calibration_error: expected calibration error of the first code, over ten bins.
        odd_confidences: first codes whose confidence is no fraction from 0 to 1.
        bins: the tenths of the scale of confidence.
        curve: the accuracy of the most confident rows.
        confused: by the name of a level, the pairs that were confused most.
        languages: those with most rows first; none if the table does not tell.
    """

    rows: int
    unanswered: Share
    statuses: Mapping[str, int]
    depths: Sequence[DepthFigures]
    calibration_error: float
    odd_confidences: int
    bins: Sequence[Bin]
    curve: Sequence[Point]
    confused: Mapping[str, Sequence[Pair]]
    languages: Sequence[LanguageFigures]

    @property
    def right(self) -> Mapping[int, Share]:
        """How often the full code is among the first 1, 5 and 10."""
        return self.depths[0].top

    def at(self, depth: Depth) -> Mapping[int, Share]:
        """Return how often the right code, as deep as this, is among the first 1, 5 and 10."""
        return next(found.top for found in self.depths if found.depth == depth)


def told_depths(figures: Figures) -> list[DepthFigures]:
    """Return what is worth telling: as far as stated only where a right code states less."""
    full = figures.depths[0]
    return [found for found in figures.depths if found.depth != STATED or found.top != full.top]


def told_pairs(pairs: Sequence[Pair], most: int) -> Sequence[Pair]:
    """Return the pairs worth telling: what came once is hardly a habit, so few of those."""
    habits = [pair for pair in pairs[:most] if pair.rows > 1]
    return habits if len(habits) >= FEWEST_TOLD else pairs[: min(most, FEWEST_TOLD)]
