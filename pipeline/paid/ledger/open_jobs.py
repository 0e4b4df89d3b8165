"""The open jobs: which tables they are for, what they have cost, and why they are not done."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.paid.ledger.locks import is_worked_on
from pipeline.paid.ledger.schema import OPEN_JOB
from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.ledger.totals import Tally, job_tally

__all__ = ["JobNote", "OpenJob", "open_jobs"]

OPEN_JOBS = f"""
    SELECT job_id, endpoint, identity, opened_at,
        (SELECT count(*) FROM first_rows WHERE first_rows.job_id = jobs.job_id),
        (SELECT max(sent_at) FROM attempts WHERE attempts.job_id = jobs.job_id)
    FROM jobs WHERE {OPEN_JOB} ORDER BY job_id
"""  # noqa: S608 - a constant

NOTES = "SELECT job_id, input, output, table_rows, stopped, stopped_at FROM job_notes"

NOTES_SINCE = 3
"""The version of the ledger that has notes."""


@dataclass(frozen=True, slots=True)
class JobNote:
    """What a run noted about its job.

    Attributes:
        source: the path of the input, or what it is.
        output: the path of the output, or what it is.
        rows: the rows of the table.
        stopped: why the last run stopped before its end; None if it is under way, or was killed.
        stopped_at: when, seconds since 1970.
    """

    source: str
    output: str
    rows: int
    stopped: str | None
    stopped_at: float | None


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job whose output is not in place: parked, killed, or under way.

    Attributes:
        number: its number in the ledger.
        base_url: where it buys.
        opened_at: when it was first started, seconds since 1970.
        calls: the distinct calls of its table planned so far.
        last_sent_at: when its last attempt was sent, seconds since 1970; None before the first.
        cost: what it has cost so far.
        running: whether a run is working on it.
        note: what its last run noted; None if a version without notes opened it.
    """

    number: int
    base_url: str
    opened_at: float
    calls: int
    last_sent_at: float | None
    cost: Tally
    running: bool
    note: JobNote | None


def open_jobs(snapshot: Snapshot) -> list[OpenJob]:
    """Return the jobs whose output is not in place."""
    rows = snapshot.rows(NOTES) if snapshot.version >= NOTES_SINCE else ()
    notes = {number: JobNote(*note) for number, *note in rows}
    return [
        OpenJob(
            number,
            base_url,
            opened_at,
            calls,
            last_sent_at,
            job_tally(snapshot, number),
            is_worked_on(snapshot.path, base_url, identity),
            notes.get(number),
        )
        for number, base_url, identity, opened_at, calls, last_sent_at in list(
            snapshot.rows(OPEN_JOBS)
        )
    ]
