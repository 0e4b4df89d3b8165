from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS
from pipeline.money import total
from pipeline.service.accounts import DailyUse
from pipeline.service.web.chart import GROUND, TOP, draw

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


@given(uses=USES)
def test_what_is_drawn_is_what_was_used(uses: list[DailyUse]) -> None:
    chart = draw(uses, TODAY, 30)
    told = {(day.day, system): calls for day in chart.days for system, calls in day.calls.items()}
    assert told == {(use.day, use.system): use.calls for use in uses}
    assert chart.usd == total(use.usd for use in uses)
    for system, calls in chart.calls.items():
        assert calls == sum(use.calls for use in uses if use.system == system)


@given(uses=USES)
def test_bars_stand_on_each_other_as_high_as_their_calls(uses: list[DailyUse]) -> None:
    chart = draw(uses, TODAY, 30)
    most = chart.ticks[-1].calls
    for day in chart.days:
        foot = float(GROUND)
        for bar in day.bars:
            share = day.calls[bar.system] / most
            assert bar.height == pytest.approx((GROUND - TOP) * share, abs=0.011)
            assert bar.y + bar.height == pytest.approx(foot, abs=0.011)
            foot = bar.y
        assert foot >= TOP
        assert [bar.system for bar in day.bars] == [s for s in SYSTEMS if s in day.calls]


@given(highest=st.integers(0, 10**9))
def test_ticks_are_a_few_round_numbers_up_to_the_highest_bar(highest: int) -> None:
    uses = [DailyUse(TODAY, "cpv", highest, Decimal(1))] if highest else []
    ticks = [tick.calls for tick in draw(uses, TODAY, 30).ticks]
    step = ticks[1]
    assert ticks == [step * place for place in range(len(ticks))]
    assert 2 <= len(ticks) <= 5
    assert str(step).rstrip("0") in ("1", "2", "5")
    assert ticks[-2] < max(highest, 1) <= ticks[-1]


def test_the_days_are_those_up_to_today_without_a_gap() -> None:
    old = DailyUse(TODAY - timedelta(30), "cpv", 5, Decimal(1))
    chart = draw([old], TODAY, 30)
    assert [day.day for day in chart.days] == [TODAY - timedelta(29 - n) for n in range(30)]
    assert sum(chart.calls.values()) == 0
    labelled = [f"{day.day:%d %b}" for day in chart.days if day.labelled]
    assert labelled == ["23 Oct", "30 Oct", "06 Nov", "13 Nov", "20 Nov"]
    narrow = [f"{day.day:%d %b}" for day in chart.days if day.labelled and not day.between]
    assert narrow == ["23 Oct", "06 Nov", "20 Nov"]


def test_a_day_is_told_in_a_sentence() -> None:
    uses = [
        DailyUse(TODAY, "cpv", 1200, Decimal("0.12")),
        DailyUse(TODAY, "naics", 1, Decimal("0.0000705")),
    ]
    chart = draw(uses, TODAY, 2)
    assert [day.said for day in chart.days] == [
        "19 November 2026: no calls",
        "20 November 2026: 1,201 calls (CPV 1,200, NAICS 1), 0.1200705 USD",
    ]
