from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.answers import SYSTEMS, System
from pipeline.paid.ledger import maintenance
from pipeline.paid.ledger.calls import Call
from pipeline.paid.ledger.database import Database, Snapshot
from pipeline.paid.ledger.job import CallCount, Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.maintenance import (
    Old,
    Prunable,
    count_prunable,
    forget_plans,
    prune,
    prune_by_hand,
)
from tests.paid.ledger.buying import (
    ANSWERED,
    BASE_URL,
    LOST,
    PRICE,
    REFUSED,
    ROAD_DIGEST,
    SILENT,
    UNREADABLE,
    Clock,
    buy,
    note,
)

EVERYTHING = Old(2_000.0, SYSTEMS)


def counted(path: Path, old: Old = EVERYTHING) -> Prunable:
    with Snapshot(path) as snapshot:
        return count_prunable(snapshot, old)


def pruned(path: Path, old: Old = EVERYTHING) -> int:
    """Prune what was announced."""
    announced = counted(path, old).answers
    with closing(Database(path)) as database:
        assert prune(database, old) == announced
    assert counted(path, old).answers == 0
    return announced


def states(path: Path) -> list[str]:
    with Snapshot(path) as snapshot:
        rows = snapshot.rows("SELECT state FROM attempts ORDER BY attempt_id")
        return [state for (state,) in rows]


def test_a_pruned_answer_is_bought_again_and_what_it_cost_stays(
    path: Path, ledger: Ledger, job: Job, journal: Journal
) -> None:
    buy(journal)
    buy(journal, SILENT, Call("cpv", "bridge"))
    before = job.money()
    job.close()
    assert pruned(path) == 2
    assert job.money() == before
    again = ledger.open_job("tenders")
    note(again, "road", "bridge")
    assert again.responses("cpv", [ROAD_DIGEST]) == {}
    assert again.calls() == {"cpv": CallCount(2, 2)}
    prices = ledger.prices()
    assert prices is not None
    assert prices[0] == PRICE


def test_failures_and_doubts_stay_as_they_are(path: Path, job: Job, journal: Journal) -> None:
    for end in (REFUSED, UNREADABLE, LOST, ANSWERED):
        buy(journal, end)
    job.close()
    assert pruned(path) == 1
    assert states(path) == ["refused", "unreadable", "unconfirmed", "pruned"]
    with Snapshot(path) as snapshot:
        assert list(snapshot.rows("SELECT attempt_id FROM bodies")) == [(1,), (2,)]


def test_only_old_answers_of_the_systems_named_go(
    path: Path, job: Job, journal: Journal, clock: Clock
) -> None:
    for now in (1_000.0, 1_999.0, 2_000.0):
        clock.now = now
        for system in ("cpv", "psc"):
            buy(journal, ANSWERED, Call(system, "road"))
    job.close()
    psc: tuple[System, ...] = ("psc",)
    assert pruned(path, Old(2_000.0, psc)) == 2
    assert states(path) == ["answered", "pruned", "answered", "pruned", "answered", "answered"]


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_any_number_at_once_prunes_all(
    path: Path, job: Job, journal: Journal, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(maintenance, "ANSWERS_AT_ONCE", at_once)
    for _ in range(6):
        buy(journal)
    job.close()
    assert pruned(path) == 6


def test_what_an_open_job_bought_or_planned_to_use_stays(
    path: Path, ledger: Ledger, job: Job, journal: Journal, clock: Clock
) -> None:
    buy(journal)
    buy(journal, ANSWERED, Call("cpv", "bridge"))
    buy(journal, ANSWERED, Call("psc", "road"))
    assert counted(path) == Prunable(0, 0, 3)  # bought by a job that is open
    job.close()
    user = ledger.open_job("others")
    note(user, "road")
    found = counted(path)
    assert (found.answers, found.in_use) == (
        2,
        1,
    )  # bought by another job, used by one that is open
    elsewhere = Ledger(path, "http://localhost:8000", clock)
    note(elsewhere.open_job("rehearsal"), "bridge")  # the same text, of another service
    elsewhere.close()
    assert pruned(path) == 2
    assert states(path) == ["answered", "pruned", "pruned"]
    user.close()
    assert pruned(path) == 1


def test_a_plan_keeps_nothing_and_one_that_was_killed_is_forgotten(
    path: Path, ledger: Ledger, job: Job, journal: Journal, clock: Clock
) -> None:
    buy(journal)
    job.close()
    note(ledger.open_plan("tenders"), "road")
    clock.now = 5_000.0
    note(ledger.open_plan("tenders"), "road")
    assert counted(path).answers == 1
    with closing(Database(path)) as database:
        assert forget_plans(database, before=2_000.0) == 1
        assert forget_plans(database, before=2_000.0) == 0
    with Snapshot(path) as snapshot:
        assert snapshot.one("SELECT count(*) FROM first_rows") == (1,)
        assert snapshot.one("SELECT count(*) FROM jobs WHERE closed_at IS NOT NULL") == (1,)


def test_the_space_is_given_back_to_the_disk(path: Path, ledger: Ledger, job: Job) -> None:
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
    assert before > counted(path).size == 1_000_000
    done = prune_by_hand(path, EVERYTHING, now=3_000.0, wait=False)
    assert done.answers == 1_000
    assert done.size == before - path.stat().st_size > 1_000_000
    assert Ledger(path, BASE_URL).open_job("tenders").number == 2
