"""Changes by hand, and the runs that are in their way: settling, closing, pruning."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from pipeline.answers import SYSTEMS, System
from pipeline.errors import LedgerError, SettingsError
from pipeline.paid.ledger.database import Database, Snapshot
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import CallCount, Counting, Ledger, LedgerJob
from pipeline.paid.ledger.locks import job_lock, ledger_lock
from pipeline.paid.ledger.maintenance import (
    Verdict,
    count_prunable,
    prune_by_hand,
)
from pipeline.paid.ledger.schema import Call, CallOpen, PastAttempt
from pipeline.paid.ledger.totals import Tally
from pipeline.paid.limits import MAX_PRICE
from tests.paid.ledger.buying import (
    ANSWERED,
    BASE_URL,
    FINGERPRINT,
    FREE,
    LOST,
    PRICE,
    REFUSED,
    RESERVED,
    UNREADABLE,
    Clock,
    buy,
    note,
    send,
    settle,
)

BILLED = Decimal("0.0001")


def settle_billed(path: Path, attempt: int) -> None:
    settle(path, {attempt: BILLED})


def prune(path: Path, systems: Sequence[System] = SYSTEMS) -> int:
    """Prune what is older than 2,000 seconds since 1970, as announced; return how many answers."""
    announced, *_ = counted(path, systems)
    answers, _ = prune_by_hand(path, 2_000.0, systems, wait=False)
    assert (answers, counted(path, systems)[0]) == (announced, 0)
    return answers


def counted(path: Path, systems: Sequence[System] = SYSTEMS) -> tuple[int, int, int]:
    """Return how many answers are old, of how many bytes, and how many more are in use."""
    with Snapshot(path) as snapshot:
        return count_prunable(snapshot, 2_000.0, systems)


def test_an_attempt_that_a_killed_run_left_as_sent_is_settled(
    path: Path, job: LedgerJob, journal: Journal
) -> None:
    killed, other = send(journal), send(journal)
    settle_billed(path, killed)
    money = job.money()
    assert (money.confirmed, money.unconfirmed, money.at_risk) == (BILLED, 1, RESERVED)
    settle_billed(path, other)
    assert job.money().confirmed == 2 * BILLED


def test_the_money_of_a_job_does_not_change_under_its_run(
    path: Path, job: LedgerJob, journal: Journal
) -> None:
    of_ledger = partial(ledger_lock, path, BASE_URL, wait=False)
    of_job = partial(job_lock, path, BASE_URL, "tenders", wait=False)
    sent, lost = send(journal), buy(journal, LOST)
    for lock, attempt in ((of_ledger, sent), (of_job, sent), (of_job, lost)):
        with lock(), pytest.raises(LedgerError, match=r"A run works|Another process") as caught:
            settle_billed(path, attempt)
        assert "--wait" in caught.value.hint
    assert job.money().confirmed == 0
    job.close()
    with of_job():  # its successor
        settle_billed(path, lost)


def test_nothing_is_pruned_under_a_run(
    path: Path, ledger: Ledger, job: LedgerJob, journal: Journal
) -> None:
    buy(journal)
    job.close()
    ledger.open_job("others")
    of_job = job_lock(path, BASE_URL, "others", wait=False)
    for lock in (of_job, ledger_lock(path, BASE_URL, wait=False)):
        with lock, pytest.raises(LedgerError, match=r"(A run works|Another process).*--wait"):
            prune(path)
    assert prune(path) == 1


BRIDGE = Call("cpv", "bridge")
PRICED = Decimal("0.00012")


@pytest.mark.parametrize("verdict", [PRICED, "free"])
def test_the_limiter_still_knows_that_it_was_sent_and_lost(
    path: Path, ledger: Ledger, journal: Journal, clock: Clock, verdict: Verdict
) -> None:
    attempt = buy(journal, LOST)
    clock.now += 5
    settle(path, {attempt: verdict})
    assert ledger.attempts_since(FINGERPRINT, 0) == [PastAttempt(1_000.0, "unconfirmed")]


def test_only_unconfirmed_attempts_can_be_settled(
    path: Path, job: LedgerJob, journal: Journal
) -> None:
    lost = buy(journal, LOST)
    settled = buy(journal, LOST)
    settle(path, {settled: PRICED})
    before = job.money()
    refused = {
        buy(journal, ANSWERED): "is answered",
        buy(journal, REFUSED, BRIDGE): "is refused",
        buy(journal, FREE): "is free",
        settled: "is settled already",
        99: "has no attempt 99",
    }
    for attempt, said in refused.items():
        with pytest.raises(SettingsError, match=said) as caught:
            settle(path, {lost: "free", attempt: PRICED})
        assert "unconfirmed" in caught.value.hint
    assert job.money().unconfirmed == before.unconfirmed
    assert job.money().confirmed == before.confirmed + PRICE


@pytest.mark.parametrize("verdict", [PRICED, "free"])
def test_a_call_that_billed_errors_hold_is_bought_again(
    path: Path, job: LedgerJob, journal: Journal, verdict: Verdict
) -> None:
    note(job, "road")
    attempt = buy(journal, CallOpen("billed", "INTERNAL_ERROR", 500, PRICE))
    strict = replace(job, counting=Counting(most_lost=1))
    assert strict.calls() == CallCount(1, 0, 1)
    settle(path, {attempt: verdict})
    assert strict.calls() == CallCount(1, 1)
    assert job.money() == Tally(1, Decimal(0) if verdict == "free" else verdict)
    with pytest.raises(SettingsError, match="settled already"):
        settle(path, {attempt: verdict})


def test_a_price_that_an_error_stated_counts_as_one_of_the_service_and_a_settled_one_does_not(
    path: Path, ledger: Ledger, job: LedgerJob, journal: Journal
) -> None:
    lost = buy(journal, LOST)
    buy(journal, CallOpen("billed", "INTERNAL_ERROR", 500, PRICED))
    settle(path, {lost: PRICED * 2})
    assert job.highest_price() == PRICED
    assert ledger.prices(MAX_PRICE) == (PRICED, PRICED)


def states(path: Path) -> list[str]:
    with Snapshot(path) as snapshot:
        rows = snapshot.rows("SELECT state FROM attempts ORDER BY attempt_id")
        return [state for (state,) in rows]


def test_failures_and_doubts_stay_as_they_are(path: Path, job: LedgerJob, journal: Journal) -> None:
    for end in (REFUSED, UNREADABLE, LOST, ANSWERED):
        buy(journal, end)
    job.close()
    assert prune(path) == 1
    assert states(path) == ["refused", "unreadable", "unconfirmed", "pruned"]
    with Snapshot(path) as snapshot:
        assert list(snapshot.rows("SELECT attempt_id FROM bodies")) == [(1,), (2,)]


def test_only_old_answers_of_the_systems_named_go(
    path: Path, job: LedgerJob, journal: Journal, clock: Clock
) -> None:
    for now in (1_000.0, 1_999.0, 2_000.0):
        clock.now = now
        for system in ("cpv", "psc"):
            buy(journal, ANSWERED, Call(system, "road"))
    job.close()
    assert prune(path, ("psc",)) == 2
    assert states(path) == ["answered", "pruned", "answered", "pruned", "answered", "answered"]


def test_what_an_open_job_bought_or_planned_to_use_stays(
    path: Path, ledger: Ledger, job: LedgerJob, journal: Journal, clock: Clock
) -> None:
    buy(journal)
    buy(journal, ANSWERED, Call("cpv", "bridge"))
    buy(journal, ANSWERED, Call("psc", "road"))
    assert counted(path) == (0, 0, 3)  # bought by a job that is open
    job.close()
    user = ledger.open_job("others")
    note(user, "road")
    answers, _, in_use = counted(path)
    assert (answers, in_use) == (2, 1)  # bought by another job, used by one that is open
    elsewhere = Ledger(path, "http://localhost:8000", clock)
    note(elsewhere.open_job("rehearsal"), "bridge")  # the same text, of another service
    elsewhere.close()
    assert prune(path) == 2
    assert states(path) == ["answered", "pruned", "pruned"]
    user.close()
    assert prune(path) == 1


def test_the_space_is_given_back_to_the_disk(path: Path, ledger: Ledger, job: LedgerJob) -> None:
    job.close()
    with closing(Database(path)) as database, database.transaction() as connection:
        rows = [(number, os.urandom(1_000)) for number in range(1, 1_001)]
        connection.executemany(
            "INSERT INTO attempts SELECT ?, 1, 'cpv', x'00', 'key', 1.0, '1', 'answered', 2.0, "
            "NULL, '1', 200, NULL",
            [(number,) for number, _ in rows],
        )
        connection.executemany("INSERT INTO bodies VALUES (?, ?)", rows)
    ledger.close()
    before = path.stat().st_size
    assert before > counted(path)[1] == 1_000_000
    answers, freed = prune_by_hand(path, 2_000.0, SYSTEMS, wait=False)
    assert answers == 1_000
    assert freed == before - path.stat().st_size > 1_000_000
    assert Ledger(path, BASE_URL).open_job("tenders").number == 2
