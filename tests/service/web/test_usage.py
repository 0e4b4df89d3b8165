from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS
from pipeline.money import total
from pipeline.service.accounts import DailyUse
from pipeline.service.web.dashboard import usage_chart
from pipeline.service.web.rendering import usd

TODAY = date(2026, 11, 20)

USES = st.lists(
    st.builds(
        DailyUse,
        day=st.integers(0, 29).map(lambda back: TODAY - timedelta(back)),
        system=st.sampled_from(SYSTEMS),
        calls=st.integers(1, 1_000_000),
        usd=st.integers(1, 10**12).map(lambda units: Decimal(units).scaleb(-7)),
    ),
    unique_by=lambda use: (use.day, use.system),
)


def rows(chart: str) -> list[list[str]]:
    return [
        re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in re.findall("<tr>.*?</tr>", chart)
    ]


def titles(chart: str) -> list[str]:
    return re.findall("<g>\n<title>(.*?)</title>", chart)


@given(uses=USES)
def test_what_is_drawn_is_what_was_used(uses: list[DailyUse]) -> None:
    _, *days, foot = rows(usage_chart(uses, TODAY, 30))
    used = {
        (day, system): int(calls.replace(",", ""))
        for day, *counts, _, _ in days
        for system, calls in zip(SYSTEMS, counts, strict=True)
        if calls != "0"
    }
    assert used == {(use.day.isoformat(), use.system): use.calls for use in uses}
    assert foot[-1] == usd(total(use.usd for use in uses), 7)
    for system, calls in zip(SYSTEMS, foot[1:], strict=False):
        assert calls == f"{sum(use.calls for use in uses if use.system == system):,}"


def test_the_days_are_those_up_to_today_without_a_gap() -> None:
    old = DailyUse(TODAY - timedelta(30), "cpv", 5, Decimal(1))
    chart = usage_chart([old], TODAY, 30)
    days = [TODAY - timedelta(29 - place) for place in range(30)]
    assert titles(chart) == [f"{day:%-d %B %Y}: no calls" for day in days]
    assert rows(chart)[1:] == [["Total", "0", "0", "0", "0", "0", "0.0000000"]]


def test_a_day_is_described_in_a_sentence() -> None:
    uses = [
        DailyUse(TODAY, "cpv", 1200, Decimal("0.12")),
        DailyUse(TODAY, "naics", 1, Decimal("0.0000705")),
    ]
    assert titles(usage_chart(uses, TODAY, 2)) == [
        "19 November 2026: no calls",
        "20 November 2026: 1,201 calls (CPV 1,200, NAICS 1), 0.1200705 USD",
    ]
