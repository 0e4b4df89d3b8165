"""Horizontal bars of shares, in groups, with an interval over each bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pipeline.charts.axis import percent_ticks
from pipeline.charts.templates import draw

__all__ = ["Bar", "bars"]

LENGTH = 508.0
"""The length of the scale, in the drawing's units."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: several shares drawn behind one another.

    Attributes:
        style: the CSS class of the bar.
        shares: one share for each column, as fractions that do not fall; the first is the bar's
            own.
        texts: the shares as text.
        interval: the interval of the first share.
    """

    style: str
    shares: Sequence[float]
    texts: Sequence[str]
    interval: tuple[float, float]


def bars(
    groups: Mapping[str, Sequence[Bar]], columns: Sequence[str], *, title: str, description: str
) -> Markup:
    """Draw groups of horizontal bars on a scale from 0 to 100 %.

    Args:
        groups: the bars of each group, by its label; every group has as many.
        columns: the headings of three columns of figures, one for each share of a bar.
        title: the title of the chart, for screen readers.
        description: the figures in words, for screen readers.
    """
    each = max(map(len, groups.values()))
    thick, gap = (20, 20) if each == 1 else (14, 18)
    used = each * (thick + 4) - 4
    return draw(
        "bars.svg.j2",
        groups=groups,
        columns=columns,
        thick=thick,
        used=used,
        step=used + gap,
        bottom=36 + len(groups) * (used + gap) - gap,
        length=LENGTH,
        ticks=percent_ticks(LENGTH),
        title=title,
        description=description,
    )
