"""Changes that a user makes to the ledger, while no run relies on what is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Literal, TypeAlias

from pipeline.answers import System
from pipeline.errors import SettingsError
from pipeline.money import plain
from pipeline.paid.ledger.database import Database, Snapshot
from pipeline.paid.ledger.ledger import Ledger, close_jobs
from pipeline.paid.ledger.locks import job_lock, ledger_lock
from pipeline.paid.ledger.schema import address_of
from pipeline.wording import command

Verdict: TypeAlias = Decimal | Literal["free"]
"""What an attempt was billed, US dollars, or ``free`` if it was not."""

RESOLVE = """
    UPDATE attempts SET state = ?, cost_usd = ?, resolved_at = ?
    WHERE attempt_id = ? AND (state = 'unconfirmed' OR state = 'billed' AND resolved_at IS NULL)
"""


def _refusal(connection: sqlite3.Connection, attempt: int, ledger: Path) -> SettingsError:
    listed = command("ledger attempts --state unconfirmed --state billed --ledger", ledger)
    which = f"List the attempts that can be settled: {listed}"
    query = "SELECT state, resolved_at IS NOT NULL FROM attempts WHERE attempt_id = ?"
    row = connection.execute(query, (attempt,)).fetchone()
    if row is None:
        return SettingsError(f"The ledger has no attempt {attempt}.", which)
    return SettingsError(
        f"Attempt {attempt} is settled already."
        if row[1]
        else f"Attempt {attempt} is {row[0]}; its cost needs no settling.",
        which,
    )


OPEN_JOBS = "SELECT endpoint, identity FROM jobs WHERE closed_at IS NULL"

ATTEMPT = """
    SELECT endpoint, account, iif(closed_at IS NULL, identity, NULL), state = 'sent'
    FROM attempts JOIN jobs USING (job_id) WHERE attempt_id = ?
"""

# Failures stay: their bodies are small, and a refused text is not sent again unless asked. What
# an open job has bought, or plans to use, stays until its output is in place.
PRUNABLE = """
    FROM bodies JOIN attempts USING (attempt_id) JOIN jobs USING (job_id)
    WHERE state = 'answered' AND settled_at < ? AND system IN (:systems)
"""
NOT_IN_USE = """
    closed_at IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM first_rows JOIN jobs AS open ON open.job_id = first_rows.job_id
        WHERE open.closed_at IS NULL AND open.endpoint = jobs.endpoint
        AND first_rows.system = attempts.system AND first_rows.digest = attempts.digest
    )
"""


def settle_by_hand(path: Path, verdicts: Mapping[int, Verdict], now: float, wait: bool) -> None:
    """Settle attempts, all or none, as the account's statement bills them.

    They are unconfirmed, as is one that a killed run left as sent, or errors with a price. Their
    calls are open again: the next run that needs them buys them. While their money changes, nobody
    works on their jobs.

    Args:
        path: the ledger's file.
        verdicts: what each attempt was billed; see `pipeline.money.usd`.
        now: the time, seconds since 1970.
        wait: whether to wait for runs that hold a lock.

    Raises:
        SettingsError: an attempt cannot be settled.
        LedgerError: a run holds a lock, or the ledger cannot be used.
    """
    with Snapshot(path) as snapshot:
        rows = [row for attempt in verdicts for row in snapshot.rows(ATTEMPT, attempt)]
    jobs = {(base_url, identity) for base_url, _, identity, _ in rows if identity is not None}
    killed = {(base_url, key) for base_url, key, _, is_sent in rows if is_sent}
    # That nobody buys proves that the run of an attempt that seems to be under way was killed.
    with _take_locks(path, jobs, {base_url for base_url, _ in killed}, wait):
        for base_url, key_fingerprint in killed:
            with closing(Ledger(path, base_url, lambda: now)) as ledger:
                ledger.recover(key_fingerprint)
        with closing(Database(path)) as database, database.transaction() as connection:
            for attempt, verdict in verdicts.items():
                state = "free" if verdict == "free" else "billed"
                cost = None if verdict == "free" else plain(verdict)
                if connection.execute(RESOLVE, (state, cost, now, attempt)).rowcount != 1:
                    raise _refusal(connection, attempt, path)


def close_by_hand(path: Path, numbers: Iterable[int], now: float, wait: bool) -> None:
    """Close open jobs whose output will never be written, all or none.

    Their attempts, answers and costs stay. A run of the same command then opens a new job, which
    uses the answers without paying again.

    Args:
        path: the ledger's file.
        numbers: the jobs' numbers.
        now: the time, seconds since 1970.
        wait: whether to wait for runs that work on them.

    Raises:
        SettingsError: a number is not that of an open job.
        LedgerError: a run works on a job, or the ledger cannot be used.
    """
    with Snapshot(path) as snapshot:
        jobs = {number: _open_job(snapshot, number) for number in numbers}
    with _take_locks(path, jobs.values(), (), wait), closing(Database(path)) as database:
        close_jobs(database, jobs, now)


def _open_job(snapshot: Snapshot, number: int) -> tuple[str, str]:
    """Return the base URL and the identity of an open job."""
    for row in snapshot.rows(f"{OPEN_JOBS} AND job_id = ?", number):
        return row[0], row[1]
    raise SettingsError(
        f"There is no open job {number} in {snapshot.path}.",
        f"List the open jobs: {command('ledger jobs --ledger', snapshot.path)}",
    )


def prune_by_hand(
    path: Path, before: float, systems: Sequence[System], wait: bool
) -> tuple[int, int]:
    """Delete the bodies of old answers, so that they can be bought again; make the file smaller.

    Args:
        path: the ledger's file.
        before: answers recorded before this time, seconds since 1970, are old.
        systems: those whose answers are pruned.
        wait: whether to wait for runs that hold a lock.

    Returns:
        How many answers, and by how many bytes the file is smaller.

    Raises:
        LedgerError: a run holds a lock, or the ledger cannot be written.
    """
    with Snapshot(path) as snapshot:
        jobs = list(snapshot.rows(OPEN_JOBS))
        base_urls = [base_url for (base_url,) in snapshot.rows("SELECT endpoint FROM jobs")]
    with _take_locks(path, jobs, base_urls, wait), closing(Database(path)) as database:
        size = path.stat().st_size
        with database.transaction() as connection:
            query = f"SELECT attempt_id {_prunable(systems)} AND {NOT_IN_USE}"
            answers = connection.execute(query, (before, *systems)).fetchall()
            pruning = "UPDATE attempts SET state = 'pruned' WHERE attempt_id = ?"
            connection.executemany("DELETE FROM bodies WHERE attempt_id = ?", answers)
            connection.executemany(pruning, answers)
        database.give_space_back()
        return len(answers), max(0, size - path.stat().st_size)


def count_prunable(
    snapshot: Snapshot, before: float, systems: Sequence[System]
) -> tuple[int, int, int]:
    """Count what `prune_by_hand` would delete.

    Returns:
        How many answers, the bytes of their bodies in the ledger, and how many more are as old, but
        belong to open jobs.
    """
    free = f"({NOT_IN_USE})"
    counted = f"SELECT total({free}), total(length(body) * {free}), count(*) {_prunable(systems)}"
    ((answers, size, old_answers),) = snapshot.rows(counted, before, *systems)
    return int(answers), int(size), old_answers - int(answers)


def _prunable(systems: Sequence[System]) -> str:
    return PRUNABLE.replace(":systems", ", ".join("?" * len(systems)))


@contextmanager
def _take_locks(
    path: Path, jobs: Iterable[tuple[str, str]], base_urls: Iterable[str], wait: bool
) -> Iterator[None]:
    """Take the locks in the order in which runs do: the jobs' first, then the ledger's."""
    message = f"A run works on a job in the ledger {path}."
    with ExitStack() as locks:
        for base_url, identity in sorted(jobs):
            locks.enter_context(job_lock(path, base_url, identity, wait, message))
        for address in sorted(set(map(address_of, base_urls))):  # once for all models there
            locks.enter_context(ledger_lock(path, address, wait))
        yield
