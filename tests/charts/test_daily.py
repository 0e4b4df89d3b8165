from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.charts import Day, daily
from pipeline.charts.daily import GROUND, TOP, round_ticks
from tests.charts.drawing import drawing, floats

TODAY = date(2026, 11, 20)

SERIES = {"cpv": "CPV", "psc": "PSC", "naics": "NAICS"}

COUNTS = st.lists(
    st.fixed_dictionaries({}, optional={name: st.integers(1, 1_000_000) for name in SERIES}),
    min_size=1,
    max_size=30,
)


def days(counts: Sequence[dict[str, int]]) -> list[Day]:
    """Return days up to today with the series in their order."""
    first = TODAY - timedelta(len(counts) - 1)
    return [
        Day(
            first + timedelta(place),
            {name: of_day[name] for name in SERIES if name in of_day},
            f"day {place} & its text",
            f"{place}.00",
        )
        for place, of_day in enumerate(counts)
    ]


def chart(counts: Sequence[dict[str, int]]) -> str:
    return daily(days(counts), SERIES, "5.00")


def bars(group: Element) -> list[Element]:
    return [each for each in group.iter("rect") if each.attrib["class"] != "day"]


@given(counts=COUNTS)
def test_bars_are_stacked_as_high_as_their_counts(counts: list[dict[str, int]]) -> None:
    most = round_ticks(max(sum(of_day.values()) for of_day in counts))[-1]
    groups = list(drawing(chart(counts)).iter("g"))
    for group, of_day in zip(groups, counts, strict=True):
        foot = float(GROUND)
        for bar in bars(group):
            y, height = floats(bar, "y", "height")
            share = of_day[bar.attrib["class"]] / most
            assert height == pytest.approx((GROUND - TOP) * share, abs=0.011)
            assert y + height == pytest.approx(foot, abs=0.011)
            foot = y
        assert foot >= TOP
        assert [bar.attrib["class"] for bar in bars(group)] == [s for s in SERIES if s in of_day]


def test_the_table_has_the_same_figures_the_last_day_first() -> None:
    text = chart([{"cpv": 1200, "naics": 1}, {}, {"psc": 3}])
    rows = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in re.findall("<tr>.*?</tr>", text)]
    assert rows == [
        ["Day", "CPV", "PSC", "NAICS", "Calls", "USD"],
        ["2026-11-20", "0", "3", "0", "3", "2.00"],
        ["2026-11-18", "1,200", "0", "1", "1,201", "0.00"],
        ["Total", "1,200", "3", "1", "1,204", "5.00"],
    ]


def test_the_alternative_text_has_the_totals_and_the_legend_too() -> None:
    text = chart([{"cpv": 1200, "naics": 1}, {}])
    words = drawing(text).findtext("desc") or ""
    assert "from 2026-11-19 to 2026-11-20" in words
    assert "CPV 1,200, PSC 0, NAICS 1" in words
    assert re.findall(r'<li class="(.*?)">(.*?)<span class="soft">(.*?)</span>', text) == [
        ("cpv", "CPV", "1,200 calls"),
        ("psc", "PSC", "0 calls"),
        ("naics", "NAICS", "1 call"),
    ]


def test_every_seventh_day_is_labelled_and_every_fourteenth_in_a_narrow_window() -> None:
    labels = [each for each in drawing(chart([{}] * 30)).iter("text") if each.text]
    assert [each.text for each in labels] == ["23 Oct", "30 Oct", "6 Nov", "13 Nov", "20 Nov"]
    narrow = [each.text for each in labels if each.attrib.get("class") != "between"]
    assert narrow == ["23 Oct", "6 Nov", "20 Nov"]


def test_texts_are_escaped() -> None:
    titles = [each.findtext("title") for each in drawing(chart([{}, {"cpv": 1}])).iter("g")]
    assert titles == ["day 0 & its text", "day 1 & its text"]
