"""The figures of the page on scale follow from what was measured."""

from __future__ import annotations

import re

import pytest

from pipeline.paid.limits import TYPICAL_HIGH, TYPICAL_LOW
from pipeline.rate import AUTHENTICATED
from tests.docs.pages import page, rows

PAGE = page("explanation/scale")
MEASURED = rows(PAGE, "rows")
COMPUTED = rows(PAGE.split("on Spark\n", 1)[1], "rows")
VCPUS = 160
UNITS = {"s": 1, "min": 60, "h": 3600}


def number(cell: str) -> float:
    return float(re.sub(r"[^\d.]", "", cell))


def test_the_ratios_are_of_the_measured_times() -> None:
    for _, _, alone, spark, ratio in MEASURED:
        assert number(spark) / number(alone) == pytest.approx(number(ratio), abs=0.005)


def test_hours_and_dollars_of_the_engine_follow_from_the_longest_run_of_all_systems() -> None:
    longest = [row for row in MEASURED if row[1] == "all four"][-1]
    a_row = number(longest[3]) / 1000
    for count, hours, took, usd in COMPUTED:
        used = number(count) * a_row / 3600
        assert used == pytest.approx(number(hours), rel=0.02)
        seconds = number(took) * UNITS[took.split()[1]]
        assert used * 3600 / VCPUS == pytest.approx(seconds, rel=0.05)
        assert used * 0.05 == pytest.approx(number(usd), abs=0.005)


def test_days_and_dollars_of_a_service_follow_from_its_limit_and_prices() -> None:
    a_day = AUTHENTICATED.slots / AUTHENTICATED.window * 86_400
    for count, days, usd in rows(PAGE, "calls"):
        assert number(count) / a_day == pytest.approx(number(days), rel=0.01)
        low, high = (float(part.replace(",", "")) for part in usd.split(" to "))
        assert low == pytest.approx(number(count) * float(TYPICAL_LOW))
        assert high == pytest.approx(number(count) * float(TYPICAL_HIGH))
