"""The chart of what an account used."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from markupsafe import Markup

from pipeline.answers import SYSTEMS
from pipeline.charts import Day, daily
from pipeline.money import total
from pipeline.service.accounts import DailyUse
from pipeline.service.web.wording import count, usd

__all__ = ["usage_chart"]


def usage_chart(uses: Sequence[DailyUse], today: date, days: int) -> Markup:
    """Draw the charged calls of the last days.

    Args:
        uses: the usage; days before those drawn are ignored.
        today: the last day.
        days: the number of days.
    """
    shown = [today - timedelta(back) for back in range(days - 1, -1, -1)]
    return daily(
        [_day(day, [use for use in uses if use.day == day]) for day in shown],
        {system: system.upper() for system in SYSTEMS},
        title="Calls per day and system",
        counted=("call", "calls"),
        amounts=("USD", usd(total(use.usd for use in uses if use.day >= shown[0]), 7)),
        caption=f"Charged calls of the last {days} days (UTC). Days without calls are left out.",
    )


def _day(day: date, uses: Sequence[DailyUse]) -> Day:
    by_system = {use.system: use.calls for use in uses}
    calls: dict[str, int] = {system: by_system[system] for system in SYSTEMS if system in by_system}
    paid = total(use.usd for use in uses)
    text = "no calls"
    if calls:
        each = ", ".join(f"{system.upper()} {number:,}" for system, number in calls.items())
        text = f"{count(sum(calls.values()), 'call')} ({each}), {usd(paid)} USD"
    return Day(day, calls, f"{day:%-d %B %Y}: {text}", usd(paid, 7))
