"""Where the bars stand that show how often the right code is found, by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.evaluation.metrics import TOPS, Figures, told_depths
from pipeline.evaluation.plots.ticks import Tick
from pipeline.evaluation.shares import Share
from pipeline.evaluation.wording import percent, within

__all__ = ["LevelPlot", "levels"]


@dataclass(frozen=True, slots=True)
class Bar:
    """The shares of one subject at one level, one bar behind the other.

    Attributes:
        subject: ``a`` or ``b``.
        y: its upper edge.
        ends: where the bars for the first 10, 5 and 1 end, the longest first.
        low: where the interval of the first begins.
        high: where that ends.
        texts: the shares for the first 1, 5 and 10, in words.
        said: the bar in a sentence.
    """

    subject: str
    y: float
    ends: Sequence[float]
    low: float
    high: float
    texts: Sequence[str]
    said: str


@dataclass(frozen=True, slots=True)
class Level:
    """The bars of one level."""

    name: str
    middle: float
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class LevelPlot:
    """How often the right code is found, by level."""

    width: float
    height: float
    left: float
    thick: float
    columns: Sequence[float]
    ticks: Sequence[Tick]
    levels: Sequence[Level]

    @property
    def bottom(self) -> float:
        """Where the axis stands."""
        return self.height - 24


def levels(subjects: Sequence[Figures]) -> LevelPlot:
    """Draw the accuracy of one or two subjects by level."""
    left, right, top = 132.0, 640.0, 26.0
    thick, between = (20.0, 20.0) if len(subjects) == 1 else (14.0, 18.0)
    step = len(subjects) * (thick + 4) - 4 + between
    told = {found.depth: None for each in subjects for found in told_depths(each)}

    def x(share: float) -> float:
        return round(left + (right - left) * share, 2)

    drawn = []
    for place, depth in enumerate(told):
        y = top + place * step
        bars = []
        for number, (name, each) in enumerate(zip("ab", subjects, strict=False)):
            shares = each.at(depth)
            low, high = shares[1].interval
            bars.append(
                Bar(
                    name,
                    y + number * (thick + 4),
                    [x(shares[most].value) for most in reversed(TOPS)],
                    x(low),
                    x(high),
                    [percent(shares[most].value) for most in TOPS],
                    _said(depth.name, shares[1]),
                )
            )
        drawn.append(Level(depth.name, y + (step - between) / 2, bars))
    height = top + len(told) * step - between + 34
    ticks = [Tick(x(share / 4), f"{25 * share}") for share in range(5)]
    return LevelPlot(880, height, left, thick, (716, 796, 878), ticks, drawn)


def _said(name: str, share: Share) -> str:
    return f"{name}: {percent(share.value)} right first, {within(share)}"
