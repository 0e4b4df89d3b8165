"""Tables with a bar in each line: rows that need no look, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pipeline.charts.templates import draw

__all__ = ["FEWEST", "WANTED", "Ranked", "Taken", "coverage", "most_taken", "ranking"]

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


def coverage(points: Sequence[Taken], rows: int, *, style: str = "a") -> Markup:
    """Draw, for each wanted accuracy, the largest part of the rows that reaches it.

    The points go from few rows to many.
    """
    lines = {wanted: most_taken(points, wanted) for wanted in WANTED}
    return draw("coverage.html.j2", lines=lines, rows=rows, style=style)


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
