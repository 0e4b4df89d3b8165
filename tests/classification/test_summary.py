from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.classification.summary import Summary, SystemSummary, combine
from pipeline.purchases import Paid, Parked

SUMMARY = Summary(
    rows=1234,
    systems={
        "cpv": SystemSummary(
            {"ok": 1200, "empty": 30, "TIMEOUT": 3, "VALIDATION_ERROR": 1},
            Decimal("0.10499999"),
            {20: 500, 30: 200, 95: 500},
            {"sure": 500, "doubtful": 700},
        )
    },
    cost_usd=Decimal("0.10499999"),
    seconds=2.0,
    output=Path("outputs/tenders.classified.csv"),
    replaced_characters=2,
)


def test_a_row_without_text_or_without_an_answer_so_far_does_not_count_as_one_with_text() -> None:
    statuses = {"ok": 1, "no_match": 2, "empty": 4, "pending": 8, "TIMEOUT": 16}
    assert SystemSummary(statuses, Decimal(0)).with_text == 1 + 2 + 16


def test_the_text_has_the_figures_of_each_system_the_total_and_the_output() -> None:
    header, cpv, *rest = str(SUMMARY).splitlines()
    names = ["system", "sure", "doubtful", "no text", "failed", "to check", "USD"]
    assert re.split("  +", header) == names
    assert cpv.split() == ["cpv", "500", "700", "30", "4", "4", "0.10499999"]
    assert len(header) == len(cpv) <= 80
    assert rest == [
        "1,234 rows in 2.0 s (617 rows/s), 0.10499999 USD",
        '2 characters of titles are not in the file\'s encoding and became "?"',
        "output: outputs/tenders.classified.csv",
    ]


def test_a_long_amount_does_not_run_into_the_count_before_it() -> None:
    dear = SystemSummary({"no_match": 1}, Decimal("1000000.0075105"))
    cpv = str(replace(SUMMARY, systems={"cpv": dear})).splitlines()[1]
    assert cpv.split()[-2:] == ["1", "1000000.0075105"]


def test_columns_without_a_row_are_left_out_and_so_are_costs_if_nothing_was_bought() -> None:
    free = SystemSummary({"ok": 2, "no_match": 1}, Decimal(0), {25: 2}, {"likely": 2})
    none = SystemSummary({"decided": 3}, Decimal(0))
    summary = replace(SUMMARY, systems={"cpv": free, "psc": none}, cost_usd=Decimal(0))
    header, cpv, psc, *_ = str(summary).splitlines()
    assert re.split("  +", header) == ["system", "likely", "no match", "decided", "to check"]
    assert cpv.split() == ["cpv", "2", "1", "0", "1"]
    assert psc.split() == ["psc", "0", "0", "3", "0"]


@pytest.mark.parametrize(
    ("confidences", "median"),
    [({}, None), ({7: 1}, 0.07), ({100: 1, 0: 1, 40: 1}, 0.4), ({10: 2, 20: 1, 90: 1}, 0.1)],
)
def test_the_median_is_the_confidence_that_half_of_the_matches_reach(
    confidences: dict[int, int], median: float | None
) -> None:
    figures = SystemSummary({}, Decimal(0), confidences)
    assert figures.median_confidence == median
    assert "confidences" not in repr(figures), "up to a hundred counts"


def test_the_figures_for_programs_are_json_with_money_as_text() -> None:
    figures = json.loads(json.dumps(SUMMARY.to_dict()))
    assert figures["cost_usd"] == "0.10499999"
    assert figures["systems"]["cpv"] == {
        "ok": 1200,
        "no_match": 0,
        "decided": 0,
        "review": 0,
        "empty": 30,
        "pending": 0,
        "TIMEOUT": 3,
        "VALIDATION_ERROR": 1,
        "failed": 4,
        "median_confidence": 0.3,
        "cost_usd": "0.10499999",
    }


@pytest.mark.parametrize(("share", "named"), [(0.5, "psc"), (0.1, "cpv"), (0.8, ""), (None, "")])
def test_too_many_rows_without_a_match_are_reported_by_system(
    share: float | None, named: str
) -> None:
    """Rows without text and rows that were not reached count for nothing."""
    cpv = SystemSummary({"ok": 80, "no_match": 20, "empty": 900}, Decimal(0))
    psc = SystemSummary({"ok": 20, "no_match": 80, "empty": 900}, Decimal(0))
    summary = replace(SUMMARY, systems={"cpv": cpv, "psc": psc})
    found = summary.too_few_matches(share)
    assert bool(found) == bool(named)
    if found:
        assert f"rows ({named})" in found.message
        assert found.exit_code == 3
        assert "80 of 100 rows (psc)" in found.message


@pytest.mark.parametrize(
    ("statuses", "share", "message"),
    [
        ({"empty": 20}, 0.9, "None of 20 rows has a text."),
        ({"empty": 20}, 1, ""),
        ({"empty": 20, "pending": 1}, 0.5, ""),
        ({"empty": 20, "ok": 1}, 0, ""),
        ({}, 0, ""),
    ],
)
def test_a_table_without_a_text_has_too_few_matches(
    statuses: dict[str, int], share: float, message: str
) -> None:
    summary = replace(SUMMARY, systems={"cpv": SystemSummary(statuses, Decimal(0))})
    found = summary.too_few_matches(share)
    assert (found.message if found else "") == message


def test_the_bands_of_several_jobs_are_added() -> None:
    again = combine([SUMMARY, SUMMARY]).systems["cpv"]
    assert again.bands == {"sure": 1000, "doubtful": 1400}


def test_what_was_paid_says_how_much_is_over_the_limit() -> None:
    paid = Paid(3, Decimal("0.12"), Decimal(0), 0, 0, Decimal(0), Decimal("0.0200"))
    assert str(paid).splitlines() == [
        "paid by this job: 0.12 USD, 3 attempts",
        "over the cost limit: 0.02 USD",
    ]
    assert paid.to_dict()["over_max_cost_usd"] == "0.02"
    within = replace(paid, over_max_cost_usd=Decimal(0))
    assert "over the cost limit" not in str(within)


PARKED = Parked(5, "The cost limit is reached.", "Raise --max-cost and run the same command.")
PAID = Paid(7, Decimal("0.0007"), Decimal(0), 0, 0, Decimal(0))


def test_a_parked_run_says_what_was_paid_why_it_parked_and_what_there_is() -> None:
    summary = Summary(0, {}, PAID.confirmed_usd, 1.0, paid=PAID, parked=PARKED)
    assert str(summary).splitlines() == [
        "paid by this job: 0.0007 USD, 7 attempts",
        "stopped, can be continued: The cost limit is reached.",
        "Raise --max-cost and run the same command.",
        "No output was written. To write the table so far, use --partial.",
    ]


def test_a_table_so_far_counts_pending_rows_apart_from_failed_ones() -> None:
    statuses = {"ok": 7, "pending": 5, "TIMEOUT": 1}
    figures = SystemSummary(statuses, PAID.confirmed_usd, bands={"likely": 7})
    place = Path("outputs/tenders.classified.partial.csv")
    summary = Summary(13, {"cpv": figures}, PAID.confirmed_usd, 1.0, place, 0, PAID, PARKED)
    header, cpv, *rest = str(summary).splitlines()
    assert header.split()[1:5] == ["likely", "pending", "failed", "to"]
    assert cpv.split() == ["cpv", "7", "5", "1", "1", "0.0007"]
    assert f"output so far: {place}" in rest
    assert rest[-2:] == str(PARKED).splitlines()
    assert summary.failed == 1


def test_rows_that_are_pending_though_nothing_parked_count_as_failed() -> None:
    figures = SystemSummary({"ok": 7, "pending": 5}, Decimal(0))
    assert Summary(12, {"cpv": figures}, Decimal(0), 1.0).failed == 5


def test_a_table_without_rows_has_no_table_of_figures_and_may_take_no_time() -> None:
    nothing = replace(SUMMARY, rows=0, systems={"cpv": SystemSummary({}, Decimal(0), {}, {})})
    assert "system" not in str(nothing)
    assert "0 rows in 2.0 s" in str(nothing)
    assert "0 rows in 0.0 s" in str(replace(nothing, seconds=0.0))
