"""Curves of accuracy over the part of the rows that is counted, with bands of their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from markupsafe import Markup

from pipeline.charts.templates import Tick, draw, percent_ticks

__all__ = ["Curve", "CurvePoint", "curves"]

WIDE = (820.0, 270.0)
NARROW = (276.0, 190.0)
"""As wide as a phone with the labels, so that its letters can be read there."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a curve.

    Attributes:
        part: the part of the rows that is counted, from 0 to 1.
        share: the share of these rows that is right, from 0 to 1.
        interval: the interval of the share.
        text: the label of the point; None for a point without a mark.
    """

    part: float
    share: float
    interval: tuple[float, float]
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve: its CSS class and its points, from left to right."""

    style: str
    points: Sequence[CurvePoint]


def curves(
    drawn: Sequence[Curve],
    *,
    title: str,
    description: str,
    axes: tuple[str, str],
    narrow: bool = False,
) -> Markup:
    """Draw one or two curves; the upward scale ends at the next 25 % above their bands.

    Title and description are for screen readers.
    """
    width, height = NARROW if narrow else WIDE
    highest = max(point.interval[1] for curve in drawn for point in curve.points)
    quarters = max(1, ceil(4 * highest))
    scale = height / quarters * 4
    ends = [curve.points[-1].share for curve in drawn]
    return draw(
        "curves.svg.j2",
        curves=[
            # The labels of the lower curve are below it, so that they do not meet the other's.
            _scaled(
                curve, (width, height), scale, place == ends.index(min(ends)) and len(drawn) > 1
            )
            for place, curve in enumerate(drawn)
        ],
        name="curves-narrow" if narrow else "curves",
        across=percent_ticks(width),
        upward=[Tick(height - tick.at, tick.text) for tick in percent_ticks(scale, quarters)],
        width=width,
        height=height,
        title=title,
        description=description,
        axes=axes,
    )


def _scaled(curve: Curve, size: tuple[float, float], scale: float, below: bool) -> dict[str, Any]:
    width, height = size

    def place(part: float, share: float) -> tuple[float, float]:
        return round(width * part, 1), round(height - scale * share, 1)

    def path(places: Sequence[tuple[float, float]]) -> str:
        return "M" + " L".join(f"{x},{y}" for x, y in places)

    points = curve.points
    highs = [place(point.part, point.interval[1]) for point in points]
    lows = [place(point.part, point.interval[0]) for point in points]
    return {
        "style": curve.style,
        "line": path([place(point.part, point.share) for point in points]),
        "band": path([*highs, *reversed(lows)]) + " Z",
        "marks": [(*place(point.part, point.share), point.text) for point in points if point.text],
        "aside": 24.0 if below else -13.0,
    }
