"""Where the dots stand that show how well a subject knows how sure it can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from pipeline.evaluation.metrics import Figures
from pipeline.evaluation.plots.ticks import Tick
from pipeline.evaluation.wording import percent, within

__all__ = ["ReliabilityPlot", "reliability"]

SQUARE = 300.0
"""The side of the plot."""

COUNTS = 46.0
"""How high the bars are that count the rows."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One tenth of the scale of confidence.

    Attributes:
        x: its mean confidence.
        y: the share right.
        radius: larger for more rows.
        low: where the interval of the share begins.
        high: where it ends.
        bar: how high the bar is that counts the rows.
        left: where that stands.
        said: the tenth in a sentence.
    """

    x: float
    y: float
    radius: float
    low: float
    high: float
    bar: float
    left: float
    said: str


@dataclass(frozen=True, slots=True)
class ReliabilityPlot:
    """How often codes of some confidence are right."""

    subject: str
    dots: Sequence[Dot]
    ticks: Sequence[Tick]
    size: float = SQUARE
    bars: float = COUNTS

    @property
    def tenth(self) -> float:
        """How wide a tenth is drawn."""
        return self.size / 10


def reliability(subject: str, figures: Figures) -> ReliabilityPlot:
    """Draw how well a subject knows how sure it can be."""
    most = max(each.right.rows for each in figures.bins)
    dots = []
    for each in figures.bins:
        if each.confidence is None:
            continue
        low, high = each.right.interval
        part = each.right.rows / most
        dots.append(
            Dot(
                round(SQUARE * each.confidence, 2),
                round(SQUARE * (1 - each.right.value), 2),
                round(2.5 + 5.5 * sqrt(part), 2),
                round(SQUARE * (1 - low), 2),
                round(SQUARE * (1 - high), 2),
                round(max(1.0, COUNTS * part), 2),
                round(SQUARE * each.low, 2),
                f"confidence {each.low:.1f} to {each.high:.1f}: {each.right.rows:,} rows, "
                f"{percent(each.right.value)} right, {within(each.right)}",
            )
        )
    ticks = [Tick(SQUARE * share / 4, f"{25 * share}") for share in range(5)]
    return ReliabilityPlot(subject, dots, ticks)
