"""The second pass reads each answer from the ledger once, in a bounded amount of memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.answers import Answer, Failed, Match, Matched, Pending
from pipeline.classification.corrections import decisions_in
from pipeline.money import ZERO
from pipeline.paid import matcher as matcher_module
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger, LedgerJob
from pipeline.paid.ledger.schema import Call, CallEnded
from pipeline.paid.matcher import LedgerMatcher
from tests.decisions.samples import chose, nothing_fits, write
from tests.paid.ledger.buying import BASE_URL, FREE, LOST, buy, note
from tests.paid.serving import Buyer, Service, some

USD = Decimal("0.00010499999999999999")


def answer(code: str) -> CallEnded:
    items = [{"code": code, "title": f"Title {code}", "confidence": 0.5}]
    return CallEnded("answered", 200, json.dumps({"success": True, "data": items}).encode(), USD)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[LedgerJob]:
    with closing(Ledger(tmp_path / "ledger.db", BASE_URL)) as ledger:
        job = ledger.open_job("tenders")
        note(job, "road", "", "bridge", "road", "lost", "free", "never", "road", "bridge", "free")
        journal = Journal(job, "key")
        buy(journal, answer("1"), Call("cpv", "road"))
        buy(journal, answer("2"), Call("cpv", "bridge"))
        buy(journal, LOST, Call("cpv", "lost"))
        buy(journal, LOST, Call("cpv", "lost"))
        buy(journal, FREE, Call("cpv", "free"))
        yield job


BATCHES = (["road", "", "bridge"], ["road", "lost", "free", "never"], ["road", "bridge", "free"])


def matched(code: str, cost: Decimal) -> Matched:
    return Matched((Match(code, f"Title {code}", 0.5),), cost)


EXPECTED: list[Answer | None] = [
    matched("1", USD),
    None,
    matched("2", USD),
    matched("1", ZERO),
    Failed("TIMEOUT", None),
    Failed("INTERNAL_ERROR", ZERO),
    Pending(ZERO),
    matched("1", ZERO),
    matched("2", ZERO),
    Failed("INTERNAL_ERROR", ZERO),
]


def answers(job: LedgerJob) -> list[Answer | None]:
    found = LedgerMatcher(job, ("cpv",)).answers(BATCHES)
    return [one for batch in found for one in batch["cpv"]]


def test_a_call_shows_its_cost_in_its_first_row(job: LedgerJob) -> None:
    assert answers(job) == EXPECTED


def test_dropped_answers_are_read_again_without_their_cost(
    job: LedgerJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher_module, "MOST_BYTES", 0)
    assert answers(job) == EXPECTED


TEXTS = ["road works", "", "office chairs", "road works", "school meals"]


def test_a_decided_text_is_neither_planned_nor_bought(
    user: Buyer, tmp_path: Path, service: Service
) -> None:
    path = write(tmp_path / "d.jsonl", [chose("road works", "45233140"), nothing_fits("gone")])
    decisions = decisions_in(path, print)
    user.write(TEXTS)
    assert user.plan(decisions).to_buy == 5
    summary = user.run(decisions)
    assert ("cpv", "road works") not in service.asked
    assert sorted(service.asked).count(("psc", "road works")) == 1
    assert len(service.asked) == 5
    assert user.statuses("cpv") == ["decided", "empty", "ok", "decided", "ok"]
    assert user.rows()[0]["cpv_code"] == "45233140"
    assert user.rows()[0]["cpv_cost_usd"] == "0"
    assert summary.cost_usd == user.row_costs() == service.charged > 0
    assert summary.failed == 0


def test_an_answer_that_was_bought_before_the_decision_keeps_its_cost_in_its_row(
    user: Buyer, tmp_path: Path, service: Service
) -> None:
    """The first run stops at its limit of costs; the decision comes before the second one."""
    decisions = decisions_in(write(tmp_path / "d.jsonl", [nothing_fits("road works")]), print)
    user = user.but(workers=1)
    user.write(TEXTS)
    assert user.but(max_cost=Decimal("0.00016")).run().parked is not None
    assert service.asked[0] == ("cpv", "road works")
    summary = user.run(decisions)
    assert user.statuses("cpv")[0] == "decided"
    assert Decimal(user.rows()[0]["cpv_cost_usd"]) > 0
    assert some(summary.paid).unattributed_usd == 0
    assert summary.cost_usd == user.row_costs() == service.charged
