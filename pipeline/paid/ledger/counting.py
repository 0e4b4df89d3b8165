"""Counts the calls of a job: which ones the ledger answers, and which are to be bought."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.answers import System
from pipeline.paid.ledger.calls import LASTING
from pipeline.paid.ledger.database import Database

__all__ = ["COUNTS", "LOST", "CallCount", "Counting", "count_calls"]

COUNTS = f"""
    endpoint = ? AND state IN {LASTING} AND (
        attempts.job_id = ? OR settled_at >= ? AND (state = 'answered' OR settled_at > ?)
    )
"""
"""Whether an attempt, joined with its job, answers a call; see `Job`."""

LOST = """
    endpoint = ? AND (state IN ('sent', 'unconfirmed') OR state = 'billed' AND resolved_at IS NULL)
    AND (attempts.job_id = ? OR sent_at > ?)
"""
"""Whether an attempt, joined with its job, counts as a lost answer: it was billed, perhaps, and
nobody has settled it by hand. See `Job`."""

DISTINCT = "SELECT count(*) FROM first_rows WHERE job_id = ? AND system = ?"

OPEN_CALLS = f"""
    SELECT kind, row_number FROM (SELECT row_number, CASE
        WHEN EXISTS (
            SELECT 1 FROM attempts INDEXED BY attempts_of_call
            JOIN jobs ON jobs.job_id = attempts.job_id
            WHERE attempts.digest = first_rows.digest AND attempts.system = first_rows.system
            AND {COUNTS}
        ) THEN 'owned'
        WHEN (
            SELECT count(*) FROM attempts INDEXED BY attempts_of_call
            JOIN jobs ON jobs.job_id = attempts.job_id
            WHERE attempts.digest = first_rows.digest AND attempts.system = first_rows.system
            AND {LOST}
        ) >= ? THEN 'held'
        ELSE 'to buy'
    END AS kind FROM first_rows WHERE job_id = ? AND system = ? LIMIT -1) WHERE kind != 'owned'
"""  # noqa: S608 - a constant
"""Without a limit SQLite would compute each kind twice."""

MOST_LISTED = 50_000
"""How many first rows of calls to buy a count lists for each system, in a few megabytes."""


@dataclass(frozen=True, slots=True)
class Counting:
    """Which attempts count for a job's calls. Its own always do, so that it never pays twice.

    Ages are measured from when the job opened, so that they are the same for all its runs.

    Attributes:
        max_age: the maximum age of a response then, seconds; None for any age.
        retry_failed: whether to ignore failures and lost answers from before that.
        most_lost: how many lost answers hold a call, which is then not bought again.
    """

    max_age: float | None = None
    retry_failed: bool = False
    most_lost: int = 2


@dataclass(frozen=True, slots=True)
class CallCount:
    """How many distinct calls a job's table has in one system.

    Attributes:
        distinct: all of them.
        to_buy: those that the ledger cannot answer yet.
        held: those that it cannot answer, and that are not bought again because their answers were
            lost too often.
        rows: the first rows of those to buy, in no order; None if there are too many to list.
    """

    distinct: int
    to_buy: int
    held: int = 0
    rows: Sequence[int] | None = field(default=None, compare=False)


def count_calls(
    database: Database, values: Sequence[Any], rows_of: int, system: System
) -> CallCount:
    """Count the calls that a job noted in a system.

    Args:
        database: the ledger's file.
        values: the parameters of `COUNTS` and `LOST`, and how many lost answers hold a call.
        rows_of: the number under which the first rows are noted.
        system: the system.
    """
    [(distinct,)] = database.rows(DISTINCT, rows_of, system)
    rows = array("q")
    to_buy = held = 0
    for kind, row in database.rows(OPEN_CALLS, *values, rows_of, system) if distinct else ():
        if kind == "held":
            held += 1
            continue
        to_buy += 1
        if to_buy <= MOST_LISTED:
            rows.append(row)
    return CallCount(distinct, to_buy, held, rows if to_buy <= MOST_LISTED else None)
