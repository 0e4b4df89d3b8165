"""What is to be bought, row by row, and what a plan says of its cost and its limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.cli.output.run import describe, describe_files
from pipeline.paid import calls_to_buy
from pipeline.paid.calls_to_buy import CallsToBuy
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import LedgerJob
from pipeline.paid.ledger.schema import Call, text_digest
from pipeline.paid.service import PaidService
from pipeline.purchases import Estimate, Limited
from pipeline.rate import Rate
from tests.paid.ledger.buying import FINGERPRINT, FREE, LOST, buy

ROWS = ["road", "", "bridge", "road", "tunnel", "quay", "bridge", "lock", "dam"]
FIRST = {text: ROWS.index(text) for text in ROWS if text}


@pytest.fixture
def journal(job: LedgerJob) -> Journal:
    return Journal(job, FINGERPRINT)


def batches(rows: Sequence[str] = ROWS) -> Iterable[Any]:
    return [SimpleNamespace(texts=rows[at : at + 4]) for at in range(0, len(rows), 4)]


def ordered(orders: CallsToBuy) -> list[tuple[str, int]]:
    return [(each.call.text, each.losses) for each in orders.of(batches())]


def noted(job: LedgerJob, journal: Journal) -> None:
    """Note the table's calls; two of them are owned, and one was lost once."""
    job.note_rows(("cpv", text_digest(text), row) for text, row in FIRST.items())
    for text in ("road", "quay"):
        buy(journal, call=Call("cpv", text))
    buy(journal, LOST, Call("cpv", "dam"))


TO_BUY = [("bridge", 2), ("tunnel", 2), ("lock", 2), ("dam", 1)]


def test_what_was_bought_since_the_estimate_is_not_bought_again(
    job: LedgerJob, journal: Journal
) -> None:
    noted(job, journal)
    orders = CallsToBuy(job, ("cpv",))
    buy(journal, call=Call("cpv", "tunnel"))
    buy(journal, LOST, Call("cpv", "dam"))
    assert ordered(orders) == [("bridge", 2), ("lock", 2)]


def test_what_failed_before_comes_last(
    job: LedgerJob, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(job, journal)
    buy(journal, FREE, Call("cpv", "bridge"))
    later = [("dam", 1), ("bridge", 2)]
    assert sorted(ordered(CallsToBuy(job, ["cpv"]))[2:]) == sorted(later)
    assert ordered(CallsToBuy(job, ["cpv"]))[:2] == TO_BUY[1:3]
    monkeypatch.setattr("pipeline.paid.calls_to_buy.MOST_LATER", 0)
    assert ordered(CallsToBuy(job, ["cpv"])) == TO_BUY


@pytest.mark.parametrize("waiting", [1, 2, 100])
def test_a_call_is_noted_at_its_first_row(
    job: LedgerJob, monkeypatch: pytest.MonkeyPatch, waiting: int
) -> None:
    monkeypatch.setattr(calls_to_buy, "MOST_WAITING", waiting)
    rows = ["road", "", "bridge", "road", "tunnel", "quay", "road", "bridge", "lock", "dam"]
    batches: Any = [SimpleNamespace(texts=rows[at : at + 3]) for at in range(0, len(rows), 3)]
    read = CallsToBuy(job, ("cpv", "psc"))
    assert [*read.record(batches)] == batches
    first = {text_digest(text): rows.index(text) for text in rows if text}
    for system in ("cpv", "psc"):
        assert job.first_rows(system, [*first, text_digest("")]) == first


def estimate(to_buy: int, /, **left: str) -> Estimate:
    """Return an estimate at the typical prices, 0.00007 to 0.00015 USD for a call."""
    low, high = to_buy * Decimal("0.00007"), to_buy * Decimal("0.00015")
    limits: dict[Limited, Decimal] = {key: Decimal(usd) for key, usd in left.items()}  # type: ignore[misc]
    return Estimate(100, to_buy, low, high, 60.0, left=limits)


def test_a_plan_that_buys_nothing_states_one_amount() -> None:
    assert str(Estimate()) == "nothing to buy: 0 USD"
    assert str(estimate(0)) == "100 distinct calls, 100 owned, 0 to buy: 0 USD, 60 s"


def test_one_call_is_not_several() -> None:
    one = Estimate(1, 1, Decimal("0.00007"), Decimal("0.00015"), 0.0)
    assert str(one) == "1 distinct call, 0 owned, 1 to buy: 0.00007 to 0.00015 USD"


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ({"day": "0.015"}, "0.015 USD left today (UTC)"),
        (
            {"day": "0.0149"},
            "0.0149 USD left today (UTC), enough for 99 calls, perhaps for all: "
            "the run may stop there",
        ),
        (
            {"day": "0.003"},
            "0.003 USD left today (UTC), enough for 20 to 41 of these calls: "
            "the run would stop there",
        ),
        (
            {"day": "0.0001"},
            "0.0001 USD left today (UTC), not enough for one call: the run would stop at once",
        ),
        (
            {"day": "0.003", "month": "0.0015", "job": "9"},
            "0.003 USD left today (UTC); 0.0015 USD left this month (UTC), enough for 10 to 20 of "
            "these calls: the run would stop there",
        ),
        (
            {"job": "0.0003"},
            "0.0003 USD left for this job, enough for 2 to 3 of these calls: "
            "the run would stop there",
        ),
        ({"job": "1"}, ""),
        ({"files": "1"}, "1 USD left for all files"),
        ({}, ""),
    ],
)
def test_a_plan_says_at_which_limit_a_run_would_stop(left: dict[str, str], said: str) -> None:
    planned = estimate(100, **left)
    assert planned.limits == said
    assert planned.to_dict()["fits_limits"] == ("stop" not in said)
    assert planned.to_dict()["left_of_max_cost_usd"] == left.get("job", left.get("files"))


def test_purchases_one_after_another_wait_once_and_share_the_rate_limit() -> None:
    one = Estimate(60, 60, Decimal("0.0042"), Decimal("0.009"), 30.0, pause=30.0)
    both = one.then(one)
    assert (both.to_buy, both.low_usd, both.high_usd) == (120, Decimal("0.0084"), Decimal("0.018"))
    assert (both.seconds, both.pause) == (30, 30), "each alone fits into a window"
    assert both.at_rate(None) == both
    assert 30 + 72 <= both.at_rate(Rate(100, 60)).seconds < 30 + 73


def test_the_demo_limit_says_that_no_key_is_set(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    demo, keyed = (PaidService("https://a.example", key, ledger=ledger) for key in (None, "key"))
    for service, allowed in ((demo, "without a key, at most 10/hour"), (keyed, "at most 100/min")):
        asked = replace(estimate(7), allowed=service.allowed)
        assert f"60 s ({allowed}); " in describe(service, asked)
    (all_files,) = describe_files(demo, {}, estimate(7))
    assert "60 s (without a key, at most 10/hour); " in all_files
