"""What is to be bought is found row by row, and what is owned is not looked up for it again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.paid import calls_to_buy
from pipeline.paid.calls_to_buy import CallsToBuy, CallToBuy
from pipeline.paid.ledger.calls import Call, text_digest
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.journal import Journal
from tests.paid.ledger.buying import FINGERPRINT, FREE, LOST, buy, note

ROWS = ["road", "", "bridge", "road", "tunnel", "quay", "bridge", "lock", "dam"]
FIRST = {text: ROWS.index(text) for text in ROWS if text}


@pytest.fixture
def journal(job: Job) -> Journal:
    return Journal(job, FINGERPRINT)


def batches(rows: Sequence[str] = ROWS) -> Iterable[Any]:
    return [SimpleNamespace(texts=rows[at : at + 4]) for at in range(0, len(rows), 4)]


def ordered(orders: CallsToBuy) -> list[tuple[str, int]]:
    return [(each.call.text, each.losses) for each in orders.of(batches())]


def noted(job: Job, journal: Journal) -> None:
    """Note the table's calls; two of them are owned, and one was lost once."""
    job.note_rows(("cpv", text_digest(text), row) for text, row in FIRST.items())
    for text in ("road", "quay"):
        buy(journal, call=Call("cpv", text))
    buy(journal, LOST, Call("cpv", "dam"))


TO_BUY = [("bridge", 2), ("tunnel", 2), ("lock", 2), ("dam", 1)]


def test_the_calls_to_buy_are_those_without_an_answer_row_by_row(
    job: Job, journal: Journal
) -> None:
    noted(job, journal)
    assert ordered(CallsToBuy(job, ("cpv",))) == TO_BUY


def test_what_was_bought_since_the_estimate_is_not_bought_again(job: Job, journal: Journal) -> None:
    noted(job, journal)
    orders = CallsToBuy(job, ("cpv",))
    buy(journal, call=Call("cpv", "tunnel"))
    buy(journal, LOST, Call("cpv", "dam"))
    assert ordered(orders) == [("bridge", 2), ("lock", 2)]


def test_a_row_that_is_to_be_bought_in_one_system_is_not_bought_in_another(
    job: Job, journal: Journal
) -> None:
    noted(job, journal)
    job.note_rows([("psc", text_digest("road"), 0)])
    orders = CallsToBuy(job, ("cpv", "psc"))
    found = [(each.call.system, each.call.text) for each in orders.of(batches())]
    assert found == [("psc", "road"), *[("cpv", text) for text, _ in TO_BUY]]


def test_a_table_that_has_changed_since_orders_nothing_else(job: Job) -> None:
    note(job, "road", "bridge")
    orders = CallsToBuy(job, ("cpv",))
    assert [*orders.of(batches(["canal", "bridge"]))] == [CallToBuy(Call("cpv", "bridge"), 2)]


def test_what_failed_before_comes_last(
    job: Job, journal: Journal, monkeypatch: pytest.MonkeyPatch
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
    job: Job, monkeypatch: pytest.MonkeyPatch, waiting: int
) -> None:
    monkeypatch.setattr(calls_to_buy, "MOST_WAITING", waiting)
    rows = ["road", "", "bridge", "road", "tunnel", "quay", "road", "bridge", "lock", "dam"]
    batches: Any = [SimpleNamespace(texts=rows[at : at + 3]) for at in range(0, len(rows), 3)]
    read = CallsToBuy(job, ("cpv", "psc"))
    assert [*read.record(batches)] == batches
    first = {text_digest(text): rows.index(text) for text in rows if text}
    for system in ("cpv", "psc"):
        assert job.first_rows(system, [*first, text_digest("")]) == first
