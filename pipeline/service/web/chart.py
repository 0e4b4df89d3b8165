"""Draws what an account used, per day and system, as bars that stand on each other.

Places across are percentages and heights pixels, so the drawing fits every window and its text
keeps its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from pipeline.answers import SYSTEMS, System
from pipeline.money import total
from pipeline.service.accounts import DailyUse
from pipeline.service.web.wording import count, usd

__all__ = ["Bar", "Chart", "Day", "Tick", "draw"]

TOP, GROUND, HEIGHT = 8, 208, 236
"""Pixels from the upper edge: of the highest bar, of where they stand, of all."""

FILLED = 0.72
"""How much of a day's width its bar takes."""

MOST_TICKS = 4

LABEL_EVERY = 7
"""Days."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across with its number of calls."""

    y: float
    calls: int


@dataclass(frozen=True, slots=True)
class Bar:
    """The calls of one system on one day: pixels from above."""

    system: System
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Day:
    """One day.

    Attributes:
        day: the day, UTC.
        left: where its part of the drawing begins, percent.
        bars: from the ground up.
        calls: by system; those without are left out.
        usd: what the calls cost together, US dollars.
        said: all of it in a sentence.
        labelled: whether the day is written below.
        between: whether a narrow window has no room for what is written below.
    """

    day: date
    left: float
    bars: Sequence[Bar]
    calls: Mapping[System, int]
    usd: Decimal
    said: str
    labelled: bool
    between: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """The drawing, with the numbers that it shows.

    Attributes:
        days: the first day first.
        ticks: from the ground up.
        width: of one day, percent.
        bar_width: of a bar, percent.
        calls: by system, over all days; none is left out.
        usd: what all calls cost together, US dollars.
    """

    days: Sequence[Day]
    ticks: Sequence[Tick]
    width: float
    bar_width: float
    calls: Mapping[System, int]
    usd: Decimal
    top: int = TOP
    ground: int = GROUND
    height: int = HEIGHT


def draw(uses: Sequence[DailyUse], today: date, days: int) -> Chart:
    """Draw the days up to today.

    Args:
        uses: what was used; of days outside the drawing nothing is shown.
        today: the last day.
        days: how many.
    """
    of_day: dict[date, list[DailyUse]] = {}
    for use in uses:
        of_day.setdefault(use.day, []).append(use)
    shown = [today - timedelta(back) for back in range(days - 1, -1, -1)]
    highest = max(sum(use.calls for use in of_day.get(day, ())) for day in shown)
    ticks = _ticks(highest)
    drawn = [
        _day(day, place, of_day.get(day, ()), ticks[-1], days) for place, day in enumerate(shown)
    ]
    return Chart(
        drawn,
        [Tick(_y(calls, ticks[-1]), calls) for calls in ticks],
        _rounded(100 / days),
        _rounded(100 * FILLED / days),
        {system: sum(day.calls.get(system, 0) for day in drawn) for system in SYSTEMS},
        total(day.usd for day in drawn),
    )


def _day(day: date, place: int, uses: Sequence[DailyUse], most: int, days: int) -> Day:
    by_system = {use.system: use for use in uses}
    calls: dict[System, int] = {}
    bars = []
    below = 0
    for system in SYSTEMS:
        if system in by_system:
            calls[system] = by_system[system].calls
            y, foot = _y(below + calls[system], most), _y(below, most)
            bars.append(Bar(system, y, _rounded(foot - y)))
            below += calls[system]
    paid = total(use.usd for use in uses)
    back = days - 1 - place
    return Day(
        day,
        _rounded(100 * place / days),
        bars,
        calls,
        paid,
        _said(day, calls, paid),
        labelled=back % LABEL_EVERY == 0,
        between=back % (2 * LABEL_EVERY) != 0,
    )


def _said(day: date, calls: Mapping[System, int], paid: Decimal) -> str:
    each = ", ".join(f"{system.upper()} {number:,}" for system, number in calls.items())
    told = (
        f"{count(sum(calls.values()), 'call')} ({each}), {usd(paid)} USD" if calls else "no calls"
    )
    return f"{day:%-d %B %Y}: {told}"


def _ticks(highest: int) -> list[int]:
    """Return round numbers from 0 to the highest or just above it."""
    step = 1
    while step * MOST_TICKS < highest:
        step = _rounder(step)
    return list(range(0, max(highest, 1) + step, step))[: max(2, -(-highest // step) + 1)]


def _rounder(step: int) -> int:
    """Return the next of 1, 2, 5, 10, 20, 50, ..."""
    return step * 5 // 2 if str(step).startswith("2") else step * 2


def _y(calls: int, most: int) -> float:
    return _rounded(GROUND - (GROUND - TOP) * calls / most)


def _rounded(number: float) -> float:
    return round(number, 2)
