"""A table of counts with a bar each, the highest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pipeline.charts.templates import draw

__all__ = ["Ranked", "ranking"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One line: a code, what it means, and a count."""

    code: str
    meaning: str
    count: int


def ranking(lines: Sequence[Ranked], *, columns: tuple[str, str, str]) -> Markup:
    """Draw a line for each count, in the order given.

    Args:
        lines: at least one.
        columns: the headings of the code, its meaning and the count.
    """
    most = max(line.count for line in lines)
    return draw("ranking.html.j2", lines=lines, most=max(1, most), columns=columns)
