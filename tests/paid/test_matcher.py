"""The second pass reads each answer from the ledger once, in a bounded amount of memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import pytest

from pipeline.answers import Answer, Failed, Match, Matched, Pending, System
from pipeline.money import ZERO
from pipeline.paid import matcher as matcher_module
from pipeline.paid.ledger.calls import Call, CallEnded, text_digest
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.job import Job as JobClass
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.matcher import LedgerMatcher
from tests.paid.ledger.buying import BASE_URL, FREE, LOST, buy, note

USD = Decimal("0.00010499999999999999")


def answer(code: str) -> CallEnded:
    items = [{"code": code, "title": f"Title {code}", "confidence": 0.5}]
    return CallEnded("answered", 200, json.dumps({"success": True, "data": items}).encode(), USD)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
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


def answers(job: Job) -> list[Answer | None]:
    found = LedgerMatcher(job, ("cpv",)).answers(BATCHES)
    return [one for batch in found for one in batch["cpv"]]


def test_a_call_shows_its_cost_in_its_first_row(job: Job) -> None:
    assert answers(job) == EXPECTED


def test_an_answer_is_read_once_for_all_rows_of_its_text(job: Job) -> None:
    read: list[bytes] = []
    found = JobClass.responses_and_costs

    def counted(self: Job, system: System, digests: Sequence[bytes]) -> object:
        read.extend(digests)
        return found(self, system, digests)

    with patch.object(JobClass, "responses_and_costs", counted):
        answers(job)
    assert len(read) == len(set(read)) == 5


def test_dropped_answers_are_read_again_without_their_cost(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher_module, "MOST_BYTES", 0)
    assert answers(job) == EXPECTED


def test_the_calls_answered_are_those_with_an_owned_answer(job: Job) -> None:
    digests = [text_digest(text) for batch in BATCHES for text in batch]
    assert job.answered("cpv", digests) == set(job.responses("cpv", digests)) != set()
