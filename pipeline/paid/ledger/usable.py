"""Looks whether everything in a ledger can be read, before a command works with part of it."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.answers import SYSTEMS
from pipeline.errors import LedgerError
from pipeline.paid.ledger.calls import EVERY_STATE
from pipeline.paid.ledger.checks import wrong_amounts
from pipeline.paid.ledger.source import Source

__all__ = ["check_usable", "wrong_jobs"]

END_OF_TIME = 253_402_300_799
"""The last second of the year 9999, which is the last that a date can be in."""

# Quicker than asking for each column's type: SQLite puts numbers before texts before blobs.
A_TIME = f"BETWEEN 0 AND {END_OF_TIME}"
A_TEXT = "BETWEEN '' AND x''"

ATTEMPTS = f"""
    SELECT attempt_id, CASE
        WHEN NOT (sent_at {A_TIME}) THEN 'sent_at'
        WHEN NOT (ifnull(settled_at, 0) {A_TIME}) THEN 'settled_at'
        WHEN system NOT IN {SYSTEMS} THEN 'system'
        WHEN NOT (digest >= x'' AND length(digest) = 32) THEN 'digest'
        WHEN state NOT IN {EVERY_STATE} THEN 'state'
        WHEN NOT (account {A_TEXT}) THEN 'account'
        WHEN NOT (ifnull(error, '') {A_TEXT}) THEN 'error'
        WHEN NOT (ifnull(status, 0) BETWEEN 0 AND 999) THEN 'status'
    END AS wrong FROM attempts WHERE wrong IS NOT NULL LIMIT 1
"""  # noqa: S608 - constants

JOBS = f"""
    SELECT job_id, CASE
        WHEN NOT (opened_at {A_TIME}) THEN 'opened_at'
        WHEN NOT (endpoint {A_TEXT}) THEN 'endpoint'
    END AS wrong FROM jobs WHERE wrong IS NOT NULL
"""  # noqa: S608 - constants


def check_usable(ledger: Source) -> None:
    """Find values that no run writes, such as a cost that is no amount.

    Raises:
        LedgerError: there is one, or the ledger cannot be read.
    """
    for problem in wrong_amounts(ledger):
        raise _unusable(problem)
    for number, column in ledger.rows(ATTEMPTS):
        raise _unusable(f"attempt {number} has no valid {column}")
    for problem in wrong_jobs(ledger):
        raise _unusable(problem)


def wrong_jobs(ledger: Source) -> Iterator[str]:
    """Yield the jobs with values that no run writes."""
    for number, column in ledger.rows(JOBS):
        yield f"job {number} has no valid {column}"


def _unusable(problem: str) -> LedgerError:
    return LedgerError(
        f"The ledger cannot be used: {problem}.",
        "List everything that is wrong with tender-pipeline ledger verify. Then put a good copy of "
        "the ledger in its place, or name another: --ledger PATH.",
    )
