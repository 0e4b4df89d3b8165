from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.classification.summary import Summary, SystemSummary
from pipeline.paid.result import Paid, Parked

SUMMARY = Summary(
    rows=1234,
    systems={
        "cpv": SystemSummary(
            {"ok": 1200, "empty": 30, "TIMEOUT": 3, "VALIDATION_ERROR": 1}, Decimal("0.10499999")
        )
    },
    cost_usd=Decimal("0.10499999"),
    seconds=2.0,
    output=Path("outputs/tenders.classified.csv"),
    replaced_characters=2,
)


def test_every_error_type_counts_as_failed() -> None:
    assert SUMMARY.systems["cpv"].failed == 4
    assert SUMMARY.failed == 4


def test_the_text_has_the_figures_of_each_system_the_total_and_the_output() -> None:
    header, cpv, *rest = str(SUMMARY).splitlines()
    assert header.split() == ["system", "ok", "no", "match", "review", "empty", "failed", "USD"]
    assert cpv.split() == ["cpv", "1,200", "0", "0", "30", "4", "0.10499999"]
    assert rest == [
        "1,234 rows in 2.0 s (617 rows/s), 0.10499999 USD",
        '2 characters of titles are not in the file\'s encoding and became "?"',
        "output: outputs/tenders.classified.csv",
    ]


def test_a_long_amount_does_not_run_into_the_count_before_it() -> None:
    dear = SystemSummary({"ok": 1}, Decimal("1000000.0075105"))
    cpv = str(replace(SUMMARY, systems={"cpv": dear})).splitlines()[1]
    assert cpv.split()[-2:] == ["0", "1000000.0075105"]


def test_the_figures_for_programs_are_json_with_money_as_text() -> None:
    figures = json.loads(json.dumps(SUMMARY.to_dict()))
    assert figures["cost_usd"] == "0.10499999"
    assert figures["systems"]["cpv"] == {
        "ok": 1200,
        "no_match": 0,
        "review": 0,
        "empty": 30,
        "pending": 0,
        "TIMEOUT": 3,
        "VALIDATION_ERROR": 1,
        "failed": 4,
        "cost_usd": "0.10499999",
    }


def test_the_text_says_how_many_rows_of_each_system_need_a_look() -> None:
    """Nearly every row has a doubtful code in one of four systems; that number says little."""
    cpv = SystemSummary(
        {"ok": 10, "review": 5, "no_match": 2, "TIMEOUT": 1, "empty": 9}, Decimal(0)
    )
    psc = SystemSummary({"ok": 17, "pending": 1}, Decimal(0))
    naics = SystemSummary({"pending": 18}, Decimal(0))
    summary = replace(SUMMARY, systems={"cpv": cpv, "psc": psc, "naics": naics}, to_check=8)
    said = str(summary).splitlines()
    line = "need a look (review, no match or failed): cpv 8 of 18, psc 0 of 17 rows with text"
    assert line in said
    assert not any(line.startswith("need a look") for line in str(SUMMARY).splitlines())


@pytest.mark.parametrize(("share", "named"), [(0.5, "psc"), (0.1, "cpv"), (0.9, ""), (None, "")])
def test_too_many_rows_without_a_match_are_told_by_system(share: float | None, named: str) -> None:
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


def test_as_many_as_are_allowed_are_not_too_many() -> None:
    half = SystemSummary({"ok": 1, "no_match": 1}, Decimal(0))
    assert replace(SUMMARY, systems={"cpv": half}).too_few_matches(0.5) is None


def test_a_job_that_took_no_time_has_a_summary() -> None:
    assert "0 rows" in str(Summary(0, {}, Decimal(0), 0.0))


def test_what_was_paid_says_how_much_is_over_the_limit() -> None:
    paid = Paid(3, Decimal("0.12"), Decimal(0), 0, 0, Decimal(0), Decimal("0.0200"))
    assert str(paid).splitlines() == [
        "paid by this job: 0.12 USD, 3 attempts",
        "over the cost limit: 0.02 USD",
    ]
    assert paid.to_dict()["over_max_cost_usd"] == "0.02"
    within = replace(paid, over_max_cost_usd=Decimal(0))
    assert "more than" not in str(within)


PARKED = Parked(5, "The cost limit is reached.", "Raise --max-cost and run the same command.")
PAID = Paid(7, Decimal("0.0007"), Decimal(0), 0, 0, Decimal(0))


def test_a_parked_run_says_what_was_paid_why_it_parked_and_what_there_is() -> None:
    summary = Summary(0, {}, PAID.confirmed_usd, 1.0, paid=PAID, parked=PARKED)
    assert str(summary).splitlines() == [
        "paid by this job: 0.0007 USD, 7 attempts",
        "stopped (resumable): The cost limit is reached.",
        "Raise --max-cost and run the same command.",
        "No output was written. To write the table so far, use --partial.",
    ]


def test_a_table_so_far_counts_pending_rows_apart_from_failed_ones() -> None:
    figures = SystemSummary({"ok": 7, "pending": 5, "TIMEOUT": 1}, PAID.confirmed_usd)
    place = Path("outputs/tenders.classified.partial.csv")
    summary = Summary(13, {"cpv": figures}, PAID.confirmed_usd, 1.0, place, 0, PAID, PARKED)
    header, cpv, *rest = str(summary).splitlines()
    assert header.split()[-3:] == ["pending", "failed", "USD"]
    assert cpv.split() == ["cpv", "7", "0", "0", "0", "5", "1", "0.0007"]
    assert f"output so far: {place}" in rest
    assert rest[-2:] == str(PARKED).splitlines()
    assert summary.failed == 1


def test_rows_that_are_pending_though_nothing_parked_count_as_failed() -> None:
    figures = SystemSummary({"ok": 7, "pending": 5}, Decimal(0))
    assert Summary(12, {"cpv": figures}, Decimal(0), 1.0).failed == 5
