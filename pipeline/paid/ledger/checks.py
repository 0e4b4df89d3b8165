"""Finds what cannot be true of a ledger: in the file, and in single attempts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from pipeline.answers import SYSTEMS
from pipeline.errors import LedgerError
from pipeline.paid.ledger.database import Database, Snapshot
from pipeline.paid.ledger.schema import EVERY_STATE, LASTING
from pipeline.paid.ledger.totals import amount
from pipeline.wording import LEDGER, command, readable

END_OF_TIME = 253_402_300_799
"""The last second of the year 9999, the last year of Python's dates."""

# Faster than typeof(): SQLite sorts numbers before texts before blobs.
A_TIME = f"BETWEEN 1 AND {END_OF_TIME}"
A_TEXT = "< x''"

AMOUNTS = """
    SELECT DISTINCT 'cost_usd', cost_usd FROM attempts WHERE cost_usd IS NOT NULL
    UNION ALL SELECT DISTINCT 'reserved_usd', reserved_usd FROM attempts
"""

INVALID_ATTEMPTS = f"""
    SELECT attempt_id, CASE
        WHEN NOT (sent_at {A_TIME}) THEN 'sent_at'
        WHEN NOT (ifnull(settled_at, 1) {A_TIME}) THEN 'settled_at'
        WHEN system NOT IN {SYSTEMS} THEN 'system'
        WHEN NOT (digest >= x'' AND length(digest) = 32) THEN 'digest'
        WHEN state NOT IN {EVERY_STATE} THEN 'state'
        WHEN NOT (account {A_TEXT}) THEN 'account'
        WHEN NOT (ifnull(error, '') {A_TEXT}) THEN 'error'
        WHEN NOT (ifnull(status, 0) BETWEEN 0 AND 999) OR status IS NOT CAST(status AS INTEGER)
            THEN 'status'
    END AS wrong FROM attempts WHERE wrong IS NOT NULL
"""  # noqa: S608 - constants

INVALID_JOBS = f"""
    SELECT job_id, CASE
        WHEN NOT (opened_at {A_TIME}) THEN 'opened_at'
        WHEN NOT (endpoint {A_TEXT}) THEN 'endpoint'
        WHEN NOT (identity {A_TEXT}) THEN 'identity'
    END AS wrong FROM jobs WHERE wrong IS NOT NULL
"""  # noqa: S608 - constants

CONTRADICTIONS = """
    SELECT attempt_id, CASE
        WHEN (state = 'sent') != (settled_at IS NULL) THEN 'is ' || state || ', with a wrong end'
        WHEN state = 'sent' AND coalesce(error, cost_usd, status) IS NOT NULL
            THEN 'is under way and has a result'
        WHEN status IS NULL AND state IN ('answered', 'pruned', 'refused', 'unreadable')
            THEN 'ended its call without an HTTP status'
        WHEN state IN ('answered', 'pruned') AND error IS NOT NULL
            THEN 'is an answer and has the error ' || error
        WHEN state IN ('refused', 'unreadable', 'free', 'unconfirmed', 'billed') AND error IS NULL
            THEN 'failed without an error'
        WHEN state IN ('free', 'unconfirmed') AND cost_usd IS NOT NULL
            THEN 'is ' || state || ' and has a price'
        WHEN state = 'billed' AND cost_usd IS NULL THEN 'was billed, at an unknown price'
    END AS problem FROM attempts WHERE problem IS NOT NULL
"""

UNEXPECTED_BODIES = f"""
    SELECT attempt_id, state FROM bodies JOIN attempts USING (attempt_id)
    WHERE state NOT IN {LASTING}
"""  # noqa: S608 - a constant


@contextmanager
def open_usable(path: Path) -> Iterator[Snapshot]:
    """Open a ledger to read it, and check it with `check_usable`.

    Raises:
        LedgerError: a value is wrong, or the ledger cannot be read.
    """
    with Snapshot(path) as snapshot:
        check_usable(snapshot)
        yield snapshot


def check_usable(ledger: Database | Snapshot) -> None:
    """Check that every value is one that a run may write.

    Raises:
        LedgerError: a value is wrong, or the ledger cannot be read.
    """
    for problem in chain(wrong_amounts(ledger), wrong_values(ledger)):
        raise LedgerError(
            f"The ledger cannot be used: {problem}.",
            f"Restore it from a good copy, or name another: {LEDGER}. To list everything that is "
            f"wrong: {command('ledger verify --ledger', ledger.path)}",
        )


def damage(snapshot: Snapshot) -> Iterator[str]:
    """Yield what is wrong with the file itself; if it is damaged, other checks mean nothing."""
    for (finding,) in snapshot.rows("PRAGMA integrity_check"):
        if finding != "ok":
            yield f"the file is damaged: {finding}"
    for table, row, parent, _ in snapshot.rows("PRAGMA foreign_key_check"):
        which = "a row" if row is None else f"row {row}"
        yield f"{which} of {table} refers to a row of {parent} that does not exist"


def contradictions(snapshot: Snapshot) -> Iterator[str]:
    """Yield the attempts whose values are valid, but contradict each other."""
    for number, problem in snapshot.rows(CONTRADICTIONS):
        yield f"attempt {number} {problem}"
    for number, state in snapshot.rows(UNEXPECTED_BODIES):
        yield f"attempt {number} is {state}, and has a body"


def wrong_amounts(ledger: Database | Snapshot) -> Iterator[str]:
    """Yield the attempts whose money is not an amount; if there are any, nothing can be added."""
    for column, text in ledger.rows(AMOUNTS):
        if not _is_amount(text):
            wrong = f"SELECT attempt_id FROM attempts WHERE {column} = ?"  # noqa: S608
            for (number,) in ledger.rows(wrong, text):
                yield f"attempt {number} has {readable(repr(text))} as its {column}"


def wrong_values(ledger: Database | Snapshot) -> Iterator[str]:
    """Yield the attempts and jobs with a value that no run writes, apart from amounts."""
    for kind, query in (("attempt", INVALID_ATTEMPTS), ("job", INVALID_JOBS)):
        for number, column in ledger.rows(query):
            wrong = f"SELECT {column} FROM {kind}s WHERE {kind}_id = ?"  # noqa: S608
            value = next((value for (value,) in ledger.rows(wrong, number)), None)
            yield f"{kind} {number} has {readable(repr(value))} as its {column}"


def _is_amount(text: object) -> bool:
    try:
        amount(text)
    except LedgerError:
        return False
    return True
