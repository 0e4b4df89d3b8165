"""Prunes answers: their bodies go, so that they can be bought again; what was paid stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.answers import System
from pipeline.paid.ledger.database import Database
from pipeline.paid.ledger.snapshot import Snapshot

__all__ = ["Old", "Prunable", "forget_plans", "prunable", "prune"]

ANSWERS_AT_ONCE = 20_000
"""Answers pruned in one transaction: other processes' writes wait that long."""

# Failures stay: their bodies are small, and a text that was refused is not sent again unasked.
# What an open job has bought, or has planned to use, stays until its output is in place.
PRUNABLE = """
    FROM bodies JOIN attempts USING (attempt_id) JOIN jobs USING (job_id)
    WHERE state = 'answered' AND settled_at < ? AND system IN (:systems) AND attempt_id > ?
"""
NOT_IN_USE = """
    closed_at IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM first_rows JOIN jobs AS open ON open.job_id = first_rows.job_id
        WHERE open.closed_at IS NULL AND open.identity NOT LIKE 'plan %'
        AND open.endpoint = jobs.endpoint
        AND first_rows.system = attempts.system AND first_rows.digest = attempts.digest
    )
"""

PLANS = """
    SELECT job_id FROM jobs WHERE identity LIKE 'plan %' AND opened_at < ?
    AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.job_id = jobs.job_id)
"""


@dataclass(frozen=True, slots=True)
class Old:
    """Which answers are old.

    Attributes:
        before: those written down before this moment, seconds since 1970.
        systems: those of these systems.
    """

    before: float
    systems: Sequence[System]


@dataclass(frozen=True, slots=True)
class Prunable:
    """What can be pruned.

    Attributes:
        answers: how many answers.
        size: the bytes of their bodies in the ledger.
        in_use: how many are as old, but belong to jobs that are open.
    """

    answers: int
    size: int
    in_use: int


def prunable(snapshot: Snapshot, old: Old) -> Prunable:
    """Count what `prune` would take away.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    free = f"({NOT_IN_USE})"
    counted = f"SELECT total({free}), total(length(body) * {free}), count(*) {_old(old)}"
    ((answers, size, found),) = snapshot.rows(counted, *_values(old, 0))
    return Prunable(int(answers), int(size), found - int(answers))


def prune(database: Database, old: Old) -> int:
    """Take the bodies of old answers away; return how many.

    Nobody may be buying: what is bought must not go while a job relies on it.

    Raises:
        LedgerError: the ledger cannot be written.
    """
    query = f"SELECT attempt_id {_old(old)} AND {NOT_IN_USE} ORDER BY attempt_id LIMIT ?"
    pruned = last = 0
    while True:
        with database.transaction() as connection:
            values = (*_values(old, last), ANSWERS_AT_ONCE)
            numbers = connection.execute(query, values).fetchall()
            connection.executemany("DELETE FROM bodies WHERE attempt_id = ?", numbers)
            connection.executemany(
                "UPDATE attempts SET state = 'pruned' WHERE attempt_id = ?", numbers
            )
        if not numbers:
            return pruned
        pruned, last = pruned + len(numbers), numbers[-1][0]


def _old(old: Old) -> str:
    return PRUNABLE.replace(":systems", ", ".join("?" * len(old.systems)))


def _values(old: Old, last: int) -> tuple[Any, ...]:
    return (old.before, *old.systems, last)


def forget_plans(database: Database, before: float) -> int:
    """Take away what plans that were killed left; return how many.

    A plan has nothing bought; it takes its rows away itself when it ends.

    Args:
        database: the ledger's file.
        before: those begun before this moment, seconds since 1970.

    Raises:
        LedgerError: the ledger cannot be written.
    """
    with database.transaction() as connection:
        plans = connection.execute(PLANS, (before,)).fetchall()
        connection.executemany("DELETE FROM first_rows WHERE job_id = ?", plans)
        connection.executemany("DELETE FROM jobs WHERE job_id = ?", plans)
    return len(plans)
