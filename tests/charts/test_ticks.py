"""The ticks of the axes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.charts.bars import Tick, percent_ticks
from pipeline.charts.daily import round_ticks


def test_an_axis_of_percent_has_a_tick_for_every_quarter() -> None:
    quarters = [Tick(0, "0"), Tick(50, "25"), Tick(100, "50"), Tick(150, "75"), Tick(200, "100")]
    assert percent_ticks(200) == quarters


@given(highest=st.integers(0, 10**9))
def test_ticks_are_a_few_round_numbers_up_to_the_highest_bar(highest: int) -> None:
    ticks = round_ticks(highest)
    step = ticks[1]
    assert ticks == [step * place for place in range(len(ticks))]
    assert (3 if highest > 1 else 2) <= len(ticks) <= 5
    assert str(step).rstrip("0") in ("1", "2", "5")
    assert ticks[-2] < max(highest, 1) <= ticks[-1]
