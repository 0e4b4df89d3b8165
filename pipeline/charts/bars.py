"""Horizontal bars of shares, in groups, with an interval over each bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pipeline.charts.templates import draw, percent_ticks

__all__ = ["Bar", "bars"]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the parts of a drawing are, in its units.

    Attributes:
        name: begins the identifiers of its elements.
        width: its width.
        left: where the scale begins.
        length: the length of the scale.
        right: where the columns of figures end.
        above: the height of a group's label above its bars; 0 for one beside them.
    """

    name: str
    width: float
    left: float
    length: float
    right: tuple[float, float, float]
    above: float = 0.0


WIDE = _Layout("bars", 880, 132, 508, (716, 796, 878))
NARROW = _Layout("bars-narrow", 324, 0, 122, (187, 252, 323), above=20)
"""As wide as a phone, so that its letters can be read there."""


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
    groups: Mapping[str, Sequence[Bar]],
    columns: Sequence[str],
    *,
    title: str,
    description: str,
    narrow: bool = False,
) -> Markup:
    """Draw groups of horizontal bars on a scale from 0 to 100 %.

    All groups have the same number of bars. There is a column of figures for each share of a bar.
    Title and description are for screen readers.
    """
    layout = NARROW if narrow else WIDE
    each = max(map(len, groups.values()))
    thick, gap = (20, 20) if each == 1 else (14, 18)
    used = each * (thick + 4) - 4
    step = layout.above + used + gap
    return draw(
        "bars.svg.j2",
        groups=groups,
        columns=columns,
        thick=thick,
        used=used,
        step=step,
        bottom=36 + len(groups) * step - gap,
        layout=layout,
        ticks=percent_ticks(layout.length),
        title=title,
        description=description,
    )
