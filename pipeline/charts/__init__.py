"""Draws bars as SVG with a text alternative, and has what all pages share: templates, style.

The pages bring the style sheet, ``page.css``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

WANTED = (0.95, 0.9, 0.85, 0.8, 0.7, 0.5)
"""The accuracies that a table of rows that can go through has a line for."""

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


def most_taken(points: Sequence[Taken], wanted: float) -> Taken | None:
    """Return the largest part of the rows that reaches an accuracy; None if none does.

    The points go from few rows to many.
    """
    return next((each for each in reversed(points) if each.share >= wanted), None)


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
    drawn = (
        environment("pipeline.charts")
        .get_template("bars.svg.j2")
        .render(
            groups=groups,
            columns=columns,
            thick=thick,
            used=used,
            step=step,
            bottom=36 + len(groups) * step - gap,
            title=title,
            description=description,
        )
    )
    return Markup(drawn)  # noqa: S704 - it is escaped


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
