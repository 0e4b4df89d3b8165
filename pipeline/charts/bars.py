"""What all charts share, and charts of bars: shares, reliability, and tables with bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

WANTED = (0.95, 0.9, 0.85, 0.8, 0.7, 0.5)
"""The accuracies that the table has a line for."""

FEWEST = 10
"""Rows that an accuracy must have to be shown; the share right of one or two rows is noise."""


@dataclass(frozen=True, slots=True)
class Taken:
    """The most confident rows, down to some confidence.

    Attributes:
        rows: how many there are.
        share: the share of them whose code is right, from 0 to 1.
        confidence: the lowest confidence among them; None if a person decided them all.
    """

    rows: int
    share: float
    confidence: float | None


def coverage(points: Sequence[Taken], rows: int) -> Markup:
    """Draw, for each wanted accuracy, the largest part of the rows that reaches it.

    The points go from few rows to many.
    """
    lines = {wanted: most_taken(points, wanted) for wanted in WANTED}
    return draw("coverage.html.j2", lines=lines, rows=rows)


def most_taken(points: Sequence[Taken], wanted: float) -> Taken | None:
    """Return the largest part of the rows that reaches an accuracy; None if none does."""
    return next((each for each in reversed(points) if each.share >= wanted), None)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One line: a code, what it means, and a count."""

    code: str
    meaning: str
    count: int


def ranking(lines: Sequence[Ranked], *, columns: tuple[str, str, str]) -> Markup:
    """Draw a line for each count, at least one, in the order given."""
    most = max(line.count for line in lines)
    return draw("ranking.html.j2", lines=lines, most=max(1, most), columns=columns)


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


LEFT, LENGTH, RIGHT = 132, 508, (716, 796, 878)
"""Where the scale of a drawing of bars begins, its length, and where its columns of figures end."""


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

    All groups have the same number of bars. There is a column of figures for each share of a bar.
    Title and description are for screen readers.
    """
    each = max(map(len, groups.values()))
    thick, gap = (20, 20) if each == 1 else (14, 18)
    used = each * (thick + 4) - 4
    step = used + gap
    return draw(
        "bars.svg.j2",
        groups=groups,
        columns=columns,
        thick=thick,
        used=used,
        step=step,
        bottom=36 + len(groups) * step - gap,
        left=LEFT,
        length=LENGTH,
        right=RIGHT,
        ticks=percent_ticks(LENGTH),
        title=title,
        description=description,
    )


def environment(package: str) -> Environment:
    """Return an environment for a package's templates: values are escaped, a missing one raises.

    The templates may include those of this room, such as the style sheet of reports, ``page.css``.
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("pipeline.charts")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def draw(template: str, **values: Any) -> Markup:
    """Render a chart's template."""
    return Markup(_charts().get_template(template).render(values))  # noqa: S704 - it is escaped


@cache
def _charts() -> Environment:
    return environment("pipeline.charts")


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: its place in the drawing's units, and its label."""

    at: float
    text: str


def percent_ticks(length: float) -> list[Tick]:
    """Return a tick for every 25 %, on an axis whose 100 % are `length` long."""
    return [Tick(length * quarter / 4, f"{25 * quarter}") for quarter in range(5)]
