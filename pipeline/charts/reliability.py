"""A reliability diagram: how often answers of some confidence are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from markupsafe import Markup

from pipeline.charts.templates import draw, percent_ticks

__all__ = ["Bin", "reliability"]

SIZE, COUNTS = 300.0, 46.0
"""The side of the plot, and the height of the bars that count rows, in the drawing's units."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The rows of one tenth of the scale of confidence.

    Attributes:
        low: where the tenth begins, from 0 to 1.
        confidence: the mean confidence of the rows.
        share: the share of them that is right.
        interval: the interval of the share.
        rows: how many they are; at least one.
        text: the same in words.
    """

    low: float
    confidence: float
    share: float
    interval: tuple[float, float]
    rows: int
    text: str


def reliability(style: str, bins: Sequence[Bin], *, title: str, axes: tuple[str, str]) -> Markup:
    """Draw a dot for each bin, larger for more rows, and below it a bar that counts the rows.

    Args:
        style: the CSS class of the diagram; the ids begin with it, so a page has it once.
        bins: the tenths that have rows.
        title: the title of the chart, for screen readers; the texts of the bins describe it.
        axes: what the axis across and the axis upward show.
    """
    most = max(each.rows for each in bins)
    parts = [each.rows / most for each in bins]
    return draw(
        "reliability.svg.j2",
        style=style,
        dots=[
            (each, round(2.5 + 5.5 * sqrt(part), 2), round(max(1.0, COUNTS * part), 2))
            for each, part in zip(bins, parts, strict=True)
        ],
        ticks=percent_ticks(SIZE),
        size=SIZE,
        floor=SIZE + COUNTS + 8,
        title=title,
        axes=axes,
    )
