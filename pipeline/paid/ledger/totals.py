"""Adds up what attempts cost: by job, by day and system, in one pass over the ledger."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from pipeline.answers import System
from pipeline.errors import LedgerError
from pipeline.money import ZERO, times, total
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.locks import is_worked_on
from pipeline.paid.ledger.schema import EVERY_STATE, LASTING, State
from pipeline.wording import command

K = TypeVar("K", bound=Hashable)

ATTEMPTS = """
    SELECT job_id, CAST(sent_at / 86400 AS INTEGER) AS day, system, state, cost_usd, reserved_usd,
        count(*)
    FROM attempts GROUP BY job_id, day, system, state, cost_usd, reserved_usd
    ORDER BY max(attempt_id)
"""
"""Kinds of equal attempts, in the order of the last one of each."""

JOB_ATTEMPTS = """
    SELECT state, cost_usd, reserved_usd, count(*) FROM attempts
    WHERE job_id = ? GROUP BY state, cost_usd, reserved_usd
"""

EPOCH = date(1970, 1, 1).toordinal()

_UNTRAPPED = Context(traps=[])
"""With it, a text that is no number is NaN."""

WHOLE_DIGITS, DECIMALS = 16, 30
"""More than any price or reservation has; sums have room for ten thousand times more."""


@dataclass(slots=True)
class Tally:
    """A running sum over attempts, US dollars; the one definition of what is at risk.

    Attributes:
        attempts: requests sent.
        confirmed: the sum of the known prices.
        unconfirmed: attempts whose answer was lost, or has not arrived yet; they may be billed.
        unknown: attempts whose response ended the call and stated no price.
        at_risk: the sum of the reservations of the unconfirmed and the unknown.
    """

    attempts: int = 0
    confirmed: Decimal = ZERO
    unconfirmed: int = 0
    unknown: int = 0
    at_risk: Decimal = ZERO

    def count(self, state: str, cost: str | None, reserved: str, often: int = 1) -> None:
        """Count some equal attempts.

        Args:
            state: their state.
            cost: what each cost; None if unknown, or nothing.
            reserved: the most that each may have cost.
            often: how many there are.

        Raises:
            LedgerError: the ledger has something else as an amount.
        """
        self.attempts += often
        if cost is not None:
            self.confirmed = total([self.confirmed, times(amount(cost), often)])
            return
        lost, unknown = state in ("sent", "unconfirmed"), state in (*LASTING, "pruned")
        self.unconfirmed += often * lost
        self.unknown += often * unknown
        if lost or unknown:
            self.at_risk = total([self.at_risk, times(amount(reserved), often)])

    def add(self, other: Tally) -> None:
        """Add another sum to this one."""
        self.attempts += other.attempts
        self.confirmed = total([self.confirmed, other.confirmed])
        self.unconfirmed += other.unconfirmed
        self.unknown += other.unknown
        self.at_risk = total([self.at_risk, other.at_risk])


@dataclass(frozen=True, slots=True, order=True)
class Spent:
    """Where money was spent: a system at a base URL on a day (UTC)."""

    base_url: str
    day: str
    system: str


def read_spending(snapshot: Snapshot) -> dict[Spent, Tally]:
    """Add up all attempts of each system and day, in a ledger that `check_usable` has checked."""
    spent: dict[Spent, Tally] = {}
    base_urls = dict(snapshot.rows("SELECT job_id, endpoint FROM jobs"))
    for job, day, system, state, cost, reserved, often in snapshot.rows(ATTEMPTS):
        at = date.fromordinal(EPOCH + day).isoformat()
        where = Spent(base_urls.get(job, "unknown"), at, system)
        spent.setdefault(where, Tally()).count(state, cost, reserved, often)
    return spent


def total_by(by: Callable[[Spent], K], spent: Mapping[Spent, Tally]) -> dict[K, Tally]:
    """Add up what was spent, grouped by what a function returns."""
    sums: dict[K, Tally] = {}
    for where in sorted(spent):
        sums.setdefault(by(where), Tally()).add(spent[where])
    return sums


def tally_of(rows: Iterable[tuple[str, str | None, str, int]]) -> Tally:
    """Add up attempts: for each kind, its state, cost, reservation, and how many there are."""
    tally = Tally()
    for state, cost, reserved, often in rows:
        tally.count(state, cost, reserved, often)
    return tally


@lru_cache(maxsize=1_000)  # most answers cost the same
def amount(text: object) -> Decimal:
    """Return an amount of the ledger, US dollars.

    Raises:
        LedgerError: it is not an amount, or one that sums could not hold exactly.
    """
    usd = Decimal(text if isinstance(text, str) else "NaN", _UNTRAPPED)
    if usd.is_finite() and not usd.is_signed() and usd.adjusted() < WHOLE_DIGITS:
        exponent = usd.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= -DECIMALS:
            return usd
    raise LedgerError(
        f"The ledger has {text!r} instead of an amount of money.",
        f"See which attempts are wrong: {command('ledger verify --ledger PATH')}",
    )


Wanted: TypeAlias = State | Literal["failed"]
"""A state; or failed: every attempt that failed and was the last one of its call."""

STATES: tuple[Wanted, ...] = ("failed", *EVERY_STATE)

LISTED_ATTEMPTS = """
    SELECT attempt_id, job_id, endpoint, system, lower(hex(digest)), account, sent_at, settled_at,
        state, error, status, cost_usd, reserved_usd
    FROM attempts JOIN jobs USING (job_id)
"""

FAILED = """
    state IN ('refused', 'unreadable', 'free') AND NOT EXISTS (
        SELECT 1 FROM attempts AS later JOIN jobs AS theirs USING (job_id)
        WHERE later.digest = attempts.digest AND later.system = attempts.system
        AND theirs.endpoint = jobs.endpoint AND later.attempt_id > attempts.attempt_id
    )
"""


class Attempt(NamedTuple):
    """One request.

    Times are seconds since 1970, and amounts US dollars; docs/reference/ledger.md has the states.
    ``account`` names the key, and ``settled_at`` is None while it is under way.
    """

    attempt: int
    job: int
    endpoint: str
    system: System
    text_sha256: str
    account: str
    sent_at: float
    settled_at: float | None
    state: State
    error: str | None
    http_status: int | None
    cost_usd: Decimal | None
    reserved_usd: Decimal


def attempts(
    snapshot: Snapshot,
    most: int,
    states: Sequence[Wanted] = (),
    systems: Sequence[System] = (),
    since: float | None = None,
) -> Iterator[Attempt]:
    """Yield attempts, the latest first, at most ``most`` of them.

    Args:
        snapshot: the ledger.
        most: the maximum number of attempts.
        states: their states; none: all.
        systems: the systems asked about; none: all.
        since: the earliest time of sending, seconds since 1970.
    """
    conditions: list[str] = ["TRUE"]
    values: list[Any] = []
    if systems:
        conditions.append(f"system IN ({_marks(systems)})")
        values += systems
    if since is not None:
        conditions.append("sent_at >= ?")
        values.append(since)
    if states:
        plain = [state for state in states if state != "failed"]
        failed = f" OR {FAILED}" if "failed" in states else ""
        conditions.append(f"(state IN ({_marks(plain)}){failed})")
        values += plain
    condition = " AND ".join(conditions)
    query = f"{LISTED_ATTEMPTS} WHERE {condition} ORDER BY attempt_id DESC LIMIT ?"
    for *facts, cost, reserved in snapshot.rows(query, *values, most):
        facts += [None if cost is None else amount(cost), amount(reserved)]
        yield Attempt(*facts)


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


OPEN_JOBS = """
    SELECT job_id, endpoint, identity, opened_at,
        (SELECT max(sent_at) FROM attempts WHERE attempts.job_id = jobs.job_id),
        (SELECT count(*) FROM first_rows WHERE first_rows.job_id = jobs.job_id), {notes}
    FROM jobs {joined} WHERE closed_at IS NULL ORDER BY job_id
"""

NOTES_SINCE = 3
"""The version of the ledger that has notes."""


class OpenJob(NamedTuple):
    """A job whose output is not in place: parked, killed, or under way.

    Attributes:
        job: its number in the ledger.
        endpoint: where it buys.
        opened_at: when it was first started, seconds since 1970.
        last_sent_at: when its last attempt was sent; None before the first.
        calls: the distinct calls of its table planned so far.
        cost: what it has cost so far.
        running: whether a run is working on it.
        input, output: their paths, or what they are; None, as all below, in a ledger without notes.
        rows: the rows of the table.
        stopped: why the last run stopped before its end; None if it is under way, or was killed.
        stopped_at: when.
    """

    job: int
    endpoint: str
    opened_at: float
    last_sent_at: float | None
    calls: int
    cost: Tally
    running: bool
    input: str | None
    output: str | None
    rows: int | None
    stopped: str | None
    stopped_at: float | None


def open_jobs(snapshot: Snapshot) -> list[OpenJob]:
    """Return the jobs whose output is not in place."""
    notes, joined = "NULL, NULL, NULL, NULL, NULL", ""
    if snapshot.version >= NOTES_SINCE:
        notes = "input, output, table_rows, stopped, stopped_at"
        joined = "LEFT JOIN job_notes USING (job_id)"
    query = OPEN_JOBS.format(notes=notes, joined=joined)
    return [
        OpenJob(
            number,
            endpoint,
            opened_at,
            last_sent_at,
            calls,
            tally_of(snapshot.rows(JOB_ATTEMPTS, number)),
            is_worked_on(snapshot.path, endpoint, identity),
            *noted,
        )
        for number, endpoint, identity, opened_at, last_sent_at, calls, *noted in list(
            snapshot.rows(query)
        )
    ]
