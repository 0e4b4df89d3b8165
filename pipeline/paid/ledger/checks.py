"""Looks for what cannot be true of a ledger: in the file, in single attempts, in the sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from pipeline.answers import SYSTEMS
from pipeline.errors import LedgerError
from pipeline.money import plain, total
from pipeline.paid.ledger.calls import EVERY_STATE
from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.ledger.source import Source
from pipeline.paid.ledger.tally import Tally, amount
from pipeline.paid.ledger.totals import Books

__all__ = ["damage", "wrong_amounts", "wrong_attempts", "wrong_sums"]

CLOCK_SET_BACK = 3600.0
"""So much earlier than its start an attempt may end: clocks are set back while it is under way."""

DAY = 86400.0

WRONG = f"""
    SELECT attempt_id, CASE
        WHEN typeof(sent_at) != 'real' OR sent_at <= 0 OR sent_at > ? + {DAY}
            THEN 'was sent at a time that cannot be'
        WHEN typeof(settled_at) NOT IN ('real', 'null')
            OR settled_at < sent_at - {CLOCK_SET_BACK} OR settled_at > ? + {DAY}
            THEN 'ended at a time that cannot be'
        WHEN system NOT IN {SYSTEMS} THEN 'asked about the unknown system ' || system
        WHEN typeof(digest) != 'blob' OR length(digest) != 32
            THEN 'does not say which text was sent'
        WHEN state NOT IN {EVERY_STATE} THEN 'is in the unknown state ' || state
        WHEN typeof(account) != 'text' THEN 'has no valid account'
        WHEN typeof(error) NOT IN ('text', 'null') THEN 'has no valid error'
        WHEN typeof(status) NOT IN ('integer', 'null') OR status < 0
            THEN 'has no valid status'
        WHEN (state = 'sent') != (settled_at IS NULL) THEN 'is ' || state || ', with a wrong end'
        WHEN state = 'sent' AND coalesce(error, cost_usd, status) IS NOT NULL
            THEN 'is under way and has a result'
        WHEN typeof(status) != 'integer'
            AND state IN ('answered', 'pruned', 'refused', 'unreadable')
            THEN 'ended its call without an HTTP status'
        WHEN state IN ('answered', 'pruned') AND error IS NOT NULL
            THEN 'is an answer and has the error ' || error
        WHEN state IN ('refused', 'unreadable', 'free', 'unconfirmed', 'billed') AND error IS NULL
            THEN 'failed without an error'
        WHEN state IN ('free', 'unconfirmed') AND cost_usd IS NOT NULL
            THEN 'is ' || state || ' and has a price'
        WHEN state = 'billed' AND cost_usd IS NULL THEN 'was billed, nobody knows how much'
    END AS problem FROM attempts WHERE problem IS NOT NULL
"""  # noqa: S608 - constants

UNEXPECTED_BODIES = """
    SELECT attempt_id, state FROM bodies JOIN attempts USING (attempt_id)
    WHERE state NOT IN ('answered', 'refused', 'unreadable')
"""


def damage(snapshot: Snapshot) -> Iterator[str]:
    """Yield what is wrong with the file itself; where there is anything, nothing else holds."""
    for (found,) in snapshot.rows("PRAGMA integrity_check"):
        if found != "ok":
            yield f"the file is damaged: {found}"
    for table, row, parent, _ in snapshot.rows("PRAGMA foreign_key_check"):
        which = "a row" if row is None else f"row {row}"
        yield f"{which} of {table} belongs to one of {parent} that is not there"


def wrong_attempts(snapshot: Snapshot, now: float) -> Iterator[str]:
    """Yield what cannot be true of single attempts.

    Args:
        snapshot: the ledger.
        now: the time, seconds since 1970.
    """
    for number, problem in snapshot.rows(WRONG, now, now):
        yield f"attempt {number} {problem}"
    for number, state in snapshot.rows(UNEXPECTED_BODIES):
        yield f"attempt {number} is {state}, and has a body"


def wrong_amounts(ledger: Source) -> Iterator[str]:
    """Yield the attempts whose money is no amount; while there are any, nothing can be added."""
    for column in ("cost_usd", "reserved_usd"):
        for (text,) in ledger.rows(f"SELECT DISTINCT {column} FROM attempts"):  # noqa: S608
            if text is not None and not _is_amount(text):
                wrong = f"SELECT attempt_id FROM attempts WHERE {column} = ?"  # noqa: S608
                for (number,) in ledger.rows(wrong, text):
                    yield f"attempt {number} has {text!r} as its {column}"


def _is_amount(text: object) -> bool:
    try:
        amount(text)
    except LedgerError:
        return False
    return True


def wrong_sums(snapshot: Snapshot, books: Books) -> Iterator[str]:
    """Yield the sums that do not agree: by job, by day and system, and over everything.

    What each attempt cost is added up once more, attempt by attempt.
    """
    prices = snapshot.rows("SELECT cost_usd FROM attempts WHERE cost_usd IS NOT NULL")
    (attempts,) = snapshot.one("SELECT count(*) FROM attempts")
    everything = attempts, total(amount(cost) for (cost,) in prices)
    for name, tallies in (
        ("jobs", books.jobs.values()),
        ("days and systems", books.spent.values()),
    ):
        found = _sum(tallies)
        if found != everything:
            yield f"all {name} together are {_said(found)}, all attempts {_said(everything)}"


def _sum(tallies: Iterable[Tally]) -> tuple[int, Decimal]:
    sums = Tally()
    for tally in tallies:
        sums.add(tally)
    return sums.attempts, sums.confirmed


def _said(sums: tuple[int, Decimal]) -> str:
    return f"{sums[0]:,} attempts and {plain(sums[1])} USD"
