"""Where the lines run that show the accuracy of the most confident rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from pipeline.evaluation.metrics import Figures, Point
from pipeline.evaluation.plots.ticks import Tick
from pipeline.evaluation.wording import percent

__all__ = ["CurvePlot", "curves"]

FEWEST = 10
"""Rows of which an accuracy is drawn; the share right of one or two rows is noise."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The line of one subject, with the band of its intervals.

    Attributes:
        subject: ``a`` or ``b``.
        line: an SVG path.
        band: an SVG path.
        marks: points that are told in words.
        aside: how far below a point its words stand; above it for the higher of two lines.
    """

    subject: str
    line: str
    band: str
    marks: Sequence[tuple[float, float, str]]
    aside: float = -13.0


@dataclass(frozen=True, slots=True)
class CurvePlot:
    """How often the most confident answers are right."""

    width: float
    height: float
    curves: Sequence[Curve]
    across: Sequence[Tick]
    upward: Sequence[Tick]


def curves(subjects: Sequence[Figures]) -> CurvePlot:
    """Draw the accuracy of the most confident rows; the scale ends where a quarter is enough."""
    width, height = 820.0, 270.0
    quarters = max(ceil(4 * _highest(each)) for each in subjects)
    scale = height / max(1, quarters) * 4
    drawn = [
        _curve(name, each, width, height, scale) for name, each in zip("ab", subjects, strict=False)
    ]
    if len(drawn) == 2:
        lower = min((0, 1), key=lambda place: subjects[place].right[1].value)
        drawn[lower] = replace(drawn[lower], aside=24.0)
    across = [Tick(width * share / 4, f"{25 * share}") for share in range(5)]
    upward = [
        Tick(height - scale * share / 4, f"{25 * share}") for share in range(max(1, quarters) + 1)
    ]
    return CurvePlot(width, height, drawn, across, upward)


def _drawn(figures: Figures) -> list[Point]:
    return [each for each in figures.curve if each.right.rows >= FEWEST] or [figures.curve[-1]]


def _highest(figures: Figures) -> float:
    return max(each.right.value for each in _drawn(figures))


def _curve(subject: str, figures: Figures, width: float, height: float, scale: float) -> Curve:
    points = _drawn(figures)

    def y(share: float) -> float:
        return round(max(0.0, height - scale * share), 1)

    def path(shares: Sequence[float]) -> list[str]:
        return [
            f"{width * point.percent / 100:.1f},{y(share)}"
            for point, share in zip(points, shares, strict=True)
        ]

    lows, highs = zip(*(point.right.interval for point in points), strict=True)
    line = path([point.right.value for point in points])
    band = [*path(highs), *reversed(path(lows))]
    marks = [
        (width * point.percent / 100, y(point.right.value), percent(point.right.value))
        for point in points
        if point.percent in (25, 50, 75, 100)
    ]
    return Curve(subject, f"M{' L'.join(line)}", f"M{' L'.join(band)} Z", marks)
