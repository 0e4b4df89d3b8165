"""Holds a ledger still, while what runs rely on is changed by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pipeline.paid.ledger.locks import job_lock, ledger_lock
from pipeline.paid.ledger.snapshot import Snapshot

__all__ = ["nobody_at_jobs_of", "nobody_buying"]

OPEN = "closed_at IS NULL AND identity NOT LIKE 'plan %'"

OPEN_JOBS = f"SELECT endpoint, identity FROM jobs WHERE {OPEN}"  # noqa: S608 - a constant

JOB_OF = f"""
    SELECT endpoint, iif({OPEN}, identity, NULL), state = 'sent'
    FROM attempts JOIN jobs USING (job_id) WHERE attempt_id = ?
"""  # noqa: S608 - a constant


@contextmanager
def nobody_buying(path: Path, wait: bool) -> Iterator[None]:
    """Let nobody buy for a ledger, nor be at any of its open jobs.

    Args:
        path: the ledger's file.
        wait: whether to wait for runs to end.

    Raises:
        LedgerError: a run is under way, or no lock can be had.
    """
    with Snapshot(path) as snapshot:
        jobs = set(snapshot.rows(OPEN_JOBS))
        endpoints = {endpoint for (endpoint,) in snapshot.rows("SELECT endpoint FROM jobs")}
    with _locked(path, jobs, endpoints, wait):
        yield


@contextmanager
def nobody_at_jobs_of(path: Path, attempts: Iterable[int], wait: bool) -> Iterator[None]:
    """Let nobody be at the jobs of some attempts, whose money is about to change.

    For an attempt that seems to be under way nobody may be buying at all, which proves that it
    is not: its run was killed.

    Args:
        path: the ledger's file.
        attempts: their numbers; those that are not there do not matter.
        wait: whether to wait for runs to end.

    Raises:
        LedgerError: a run is under way, or no lock can be had.
    """
    with Snapshot(path) as snapshot:
        found = [row for attempt in attempts for row in snapshot.rows(JOB_OF, attempt)]
    jobs = {(endpoint, identity) for endpoint, identity, _ in found if identity is not None}
    with _locked(path, jobs, {endpoint for endpoint, _, sent in found if sent}, wait):
        yield


@contextmanager
def _locked(
    path: Path, jobs: Iterable[tuple[str, str]], endpoints: Iterable[str], wait: bool
) -> Iterator[None]:
    """Take locks in the order in which runs do: their jobs', then the ledger's."""
    with ExitStack() as locks:
        for endpoint, identity in sorted(jobs):
            locks.enter_context(job_lock(path, endpoint, identity, wait))
        for endpoint in sorted(endpoints):
            locks.enter_context(ledger_lock(path, endpoint, wait))
        yield
