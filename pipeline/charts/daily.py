"""Draws bars by the day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from markupsafe import Markup

from pipeline.charts.bars import draw

TOP, GROUND, HEIGHT = 8, 208, 236
"""Pixels from the upper edge: the top of the highest bar, the foot of all bars, the lower edge."""

FILLED = 0.72
"""The part of a day's width that its bar takes."""

MOST_STEPS = 4
"""Of the upward scale."""

LABEL_EVERY = 7
"""Days; in a narrow window every second label is left out."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day.

    Attributes:
        day: the date.
        counts: the counts of the series that have any.
        text: the day's figures in a sentence.
        amount: the last cell of the day's row in the table.
    """

    day: date
    counts: Mapping[str, int]
    text: str
    amount: str


def daily(days: Sequence[Day], series: Mapping[str, str], total: str) -> Markup:
    """Draw the calls of each day as a bar, with the series stacked, and as a table.

    The days have no gap. `series` has the name of each series by its CSS class, from the ground up;
    `total` is the last cell of the table.
    """
    ticks = round_ticks(max(sum(day.counts.values()) for day in days))
    return draw(
        "daily.html.j2",
        columns=[_column(day, place, len(days), ticks[-1]) for place, day in enumerate(days)],
        series=series,
        totals={style: sum(day.counts.get(style, 0) for day in days) for style in series},
        ticks=[(_y(count, ticks[-1]), f"{count:,}") for count in ticks],
        width=round(100 / len(days), 2),
        bar_width=round(100 * FILLED / len(days), 2),
        top=TOP,
        ground=GROUND,
        height=HEIGHT,
        total=total,
    )


def round_ticks(highest: int) -> list[int]:
    """Return evenly spaced round numbers from 0 up to `highest` or just above it.

    There are at most four steps, and each is 1, 2 or 5 times a power of ten.
    """
    step = 1
    while step * MOST_STEPS < highest:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2
    return list(range(0, max(highest, 1) + step, step))[: max(2, -(-highest // step) + 1)]


def _column(day: Day, place: int, days: int, most: int) -> dict[str, Any]:
    bars, below = [], 0
    for style, count in day.counts.items():
        y, foot = _y(below + count, most), _y(below, most)
        bars.append((style, y, round(foot - y, 2)))
        below += count
    back = days - 1 - place
    return {
        "day": day,
        "left": round(100 * place / days, 2),
        "bars": bars,
        "labelled": back % LABEL_EVERY == 0,
        "between": back % (2 * LABEL_EVERY) != 0,
    }


def _y(count: int, most: int) -> float:
    return round(GROUND - (GROUND - TOP) * count / most, 2)
