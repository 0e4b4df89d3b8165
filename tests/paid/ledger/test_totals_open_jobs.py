"""The list of open jobs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import job_lock
from pipeline.paid.ledger.totals import JobNote, open_jobs
from tests.paid.ledger.buying import BASE_URL, PRICE, Clock, buy, note

VERSION_1 = Path(__file__).with_name("version_1.sql").read_text("utf-8")


def test_open_jobs_are_those_without_an_output_and_no_plans(
    path: Path, ledger: Ledger, job: Job, journal: Journal, clock: Clock
) -> None:
    ledger.open_job("done").close()
    note(ledger.open_plan("tenders"), "road")
    note(job, "road", "bridge")
    clock.now = 2_000.0
    buy(journal)
    ledger.open_job("just begun")
    with Snapshot(path) as snapshot:
        found = open_jobs(snapshot)
    assert [(one.opened_at, one.calls, one.last_sent_at) for one in found] == [
        (1_000.0, 2, 2_000.0),
        (2_000.0, 0, None),
    ]
    assert found[0].number == job.number
    assert (found[0].cost.attempts, found[0].cost.confirmed) == (1, PRICE)
    assert found[1].cost.confirmed == Decimal(0)


def test_a_run_notes_its_tables_and_why_it_stopped(path: Path, job: Job, clock: Clock) -> None:
    job.describe("in.csv", "out.csv", 7)
    clock.now = 2_000.0
    job.note_stop("No money.")
    with Snapshot(path) as snapshot:
        (found,) = open_jobs(snapshot)
    assert found.note == JobNote("in.csv", "out.csv", 7, "No money.", 2_000.0)
    job.describe("in.csv", "out.csv", 8)
    with Snapshot(path) as snapshot:
        (found,) = open_jobs(snapshot)
    assert found.note == JobNote("in.csv", "out.csv", 8, None, None)


def test_a_job_whose_lock_is_held_is_running(path: Path, ledger: Ledger, job: Job) -> None:
    for _ in range(2):  # looking does not disturb the next run
        with job_lock(path, BASE_URL, "tenders", False), Snapshot(path) as snapshot:
            (found,) = open_jobs(snapshot)
            assert found.running
        with Snapshot(path) as snapshot:
            (found,) = open_jobs(snapshot)
            assert not found.running


def test_a_ledger_of_version_1_has_jobs_without_notes(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as old:
        old.executescript(VERSION_1)
        old.execute("INSERT INTO jobs VALUES (1, ?, 'tenders', 900.0, NULL)", (BASE_URL,))
        old.commit()
    with Snapshot(path) as snapshot:
        (found,) = open_jobs(snapshot)
    assert (found.number, found.note, found.running) == (1, None, False)
