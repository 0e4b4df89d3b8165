"""The ledger for one base URL: its jobs and their calls, its prices, what earlier runs sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pipeline.answers import System
from pipeline.errors import LedgerError
from pipeline.money import ZERO, known_total, times, total
from pipeline.paid.ledger.database import Database
from pipeline.paid.ledger.mark import HighWaterMark
from pipeline.paid.ledger.room import place_of_spare, take_in
from pipeline.paid.ledger.schema import (
    AT_ADDRESS,
    INTERRUPTED,
    LASTING,
    Cost,
    Owned,
    PastAttempt,
    RateRefusal,
    address_of,
    storable,
    unpack,
)
from pipeline.paid.ledger.totals import JOB_ATTEMPTS, Tally, amount, tally_of
from pipeline.wording import LEDGER

COUNTS = f"""
    endpoint = ? AND state IN {LASTING} AND (
        attempts.job_id = ? OR settled_at >= ? AND (state = 'answered' OR settled_at > ?)
    )
"""
"""Whether an attempt, joined with its job, answers a call; see `LedgerJob`."""

LOST = """
    endpoint = ? AND (state IN ('sent', 'unconfirmed') OR state = 'billed' AND resolved_at IS NULL)
    AND (attempts.job_id = ? OR sent_at > ?)
"""
"""Whether an attempt, joined with its job, counts as a lost answer: it was billed, perhaps, and
nobody has settled it by hand. See `LedgerJob`."""

OF_CALL = """
    FROM attempts INDEXED BY attempts_of_call JOIN jobs ON jobs.job_id = attempts.job_id
    WHERE attempts.digest = first_rows.digest AND attempts.system = first_rows.system AND
"""
"""The attempts of a call with a first row, joined with their jobs; a condition follows."""

COUNT_CALLS = f"""
    SELECT count(*), total(kind = 'to buy'), total(kind = 'held') FROM (SELECT CASE
        WHEN EXISTS (SELECT 1 {OF_CALL} {COUNTS}) THEN 'owned'
        WHEN (SELECT count(*) {OF_CALL} {LOST}) >= ? THEN 'held'
        ELSE 'to buy'
    END AS kind FROM first_rows WHERE job_id = ? LIMIT -1)
"""  # noqa: S608 - a constant
"""Without a limit SQLite would compute each kind twice."""

TO_BUY = f"""
    SELECT * FROM (
        SELECT digest, row_number, ? - (SELECT count(*) {OF_CALL} {LOST}) AS losses,
            EXISTS (SELECT 1 {OF_CALL} endpoint = ?)
        FROM first_rows WHERE NOT EXISTS (SELECT 1 {OF_CALL} {COUNTS})
        AND job_id = ? AND system = ? AND digest IN (:digests) LIMIT -1
    ) WHERE losses > 0
"""  # noqa: S608 - a constant


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
    """How many distinct calls a job's table has in all its systems.

    Attributes:
        distinct: all of them.
        to_buy: those that the ledger cannot answer yet.
        held: those that it cannot answer, and that are not bought again because their answers were
            lost too often.
    """

    distinct: int
    to_buy: int
    held: int = 0


NOTE_ROW = "INSERT INTO first_rows VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"

DESCRIBE = "INSERT OR REPLACE INTO job_notes VALUES (?, ?, ?, ?, NULL, NULL)"

STOP = "UPDATE job_notes SET stopped = ?, stopped_at = ? WHERE job_id = ?"

CLOSE = "UPDATE jobs SET closed_at = ? WHERE job_id = ?"

FORGET_ROWS = "DELETE FROM first_rows WHERE job_id = ?"

FIRST_ROWS = """
    SELECT digest, row_number FROM first_rows
    WHERE job_id = ? AND system = ? AND digest IN (:digests)
"""

RESPONSES = f"""
    SELECT attempts.attempt_id, attempts.digest, attempts.status, body,
        attempts.job_id = ? AND state != 'free' AS paid, cost_usd,
        CASE WHEN attempts.job_id = ? THEN (
            SELECT row_number FROM first_rows WHERE first_rows.job_id = ?
            AND first_rows.system = attempts.system AND first_rows.digest = attempts.digest
        ) END
    FROM attempts INDEXED BY attempts_of_call JOIN jobs ON jobs.job_id = attempts.job_id
    LEFT JOIN bodies ON bodies.attempt_id = attempts.attempt_id AND {COUNTS}
    WHERE attempts.system = ? AND attempts.digest IN (:digests)
"""  # noqa: S608 - a constant

ANSWERED = f"""
    SELECT digest FROM attempts INDEXED BY attempts_of_call JOIN jobs USING (job_id)
    JOIN bodies USING (attempt_id)
    WHERE {COUNTS} AND system = ? AND digest IN (:digests)
"""  # noqa: S608 - a constant

WAS_ANSWERED = """
    SELECT 1 FROM jobs JOIN attempts USING (job_id)
    WHERE {} = ? AND state IN ('answered', 'pruned') LIMIT 1
"""

UNATTRIBUTED = """
    SELECT cost_usd, count(*) FROM attempts WHERE job_id = ? AND cost_usd IS NOT NULL
    AND NOT EXISTS (
        SELECT 1 FROM first_rows
        WHERE first_rows.job_id = attempts.job_id AND first_rows.system = attempts.system
        AND first_rows.digest = attempts.digest
    )
    GROUP BY cost_usd
"""

ERRORS = """
    SELECT digest, state, error FROM attempts INDEXED BY attempts_of_call
    WHERE job_id = ? AND system = ? AND digest IN (:digests) ORDER BY attempt_id
"""

UNCONFIRMED = f"""
    SELECT digest, count(*) FROM attempts INDEXED BY attempts_of_call JOIN jobs USING (job_id)
    WHERE {LOST} AND system = ? AND digest IN (:digests) GROUP BY digest
"""  # noqa: S608 - a constant

JOB_PRICES = """
    SELECT DISTINCT cost_usd FROM attempts
    WHERE job_id = ? AND cost_usd IS NOT NULL AND resolved_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class LedgerJob:
    """An open job, returned by `Ledger.open_job`. Every method may raise a `LedgerError`.

    Attributes:
        ledger: the ledger that it is in.
        number: its number in the ledger.
        opened_at: when it was opened, seconds since 1970.
        counting: which attempts count for its calls.
    """

    ledger: Ledger
    number: int
    opened_at: float
    counting: Counting

    def note_rows(self, rows: Iterable[tuple[System, bytes, int]]) -> None:
        """Note the first row of calls (system, digest, row), unless they have one."""
        noted = [(self.number, *row) for row in sorted(rows)]  # neighbours share pages
        with self.ledger.database.transaction() as connection:
            connection.executemany(NOTE_ROW, noted)

    def describe(self, source: str, output: str, rows: int) -> None:
        """Note where the table and its output are, and that a run has begun, for `open_jobs`."""
        values = (self.number, storable(source), storable(output), rows)
        with self.ledger.database.transaction() as connection:
            connection.execute(DESCRIBE, values)

    def note_stop(self, reason: str) -> None:
        """Note why the run stopped before its end."""
        with self.ledger.database.transaction() as connection:
            connection.execute(STOP, (storable(reason), self.ledger.now(), self.number))

    def close(self) -> None:
        """Note that the output is in place, and delete the first rows."""
        close_jobs(self.ledger.database, [self.number], self.ledger.now())

    def delete(self) -> None:
        """Delete a job that sent nothing; attempts refer to any other one, which is an error."""
        with self.ledger.database.transaction() as connection:
            for table in ("first_rows", "job_notes", "jobs"):
                connection.execute(f"DELETE FROM {table} WHERE job_id = ?", (self.number,))  # noqa: S608

    def responses(self, system: System, digests: Sequence[bytes]) -> dict[bytes, Owned]:
        """Return the responses that answer calls for good; the last one of each call."""
        return self.responses_and_costs(system, digests)[0]

    def responses_and_costs(
        self, system: System, digests: Sequence[bytes]
    ) -> tuple[dict[bytes, Owned], dict[bytes, Cost]]:
        """Return the responses that answer calls for good, and what this job paid for calls.

        Calls for which it sent nothing that may cost have no cost.
        """
        numbers = [self.number] * 3
        attempts = self.ledger.database.rows_of(
            digests, RESPONSES, *numbers, *self._counting(), system
        )
        last: dict[bytes, tuple[int, int, bytes, Decimal | None]] = {}
        paid: dict[bytes, list[Decimal | None]] = {}
        rows: dict[bytes, int | None] = {}
        for attempt, digest, status, body, is_own, stated, row in sorted(attempts):
            cost = None if stated is None else amount(stated)
            if body is not None:
                last[digest] = attempt, status, body, cost
            if is_own:
                paid.setdefault(digest, []).append(cost)
                rows[digest] = row
        owned = {
            digest: Owned(status, unpack(attempt, body, self.ledger.database.path), cost)
            for digest, (attempt, status, body, cost) in last.items()
        }
        costs = {digest: Cost(rows[digest], known_total(prices)) for digest, prices in paid.items()}
        return owned, costs

    def answered(self, system: System, digests: Sequence[bytes]) -> set[bytes]:
        """Return which calls the ledger answers for good: the keys of `owned`, much faster."""
        rows = self.ledger.database.rows_of(digests, ANSWERED, *self._counting(), system)
        return {digest for (digest,) in rows}

    def was_answered(self) -> bool:
        """Return whether the service has answered a call before, so that the base URL is right.

        A resumed run continues one that knew it. If failed calls are bought again, those of all
        jobs count, because most of them may fail as they did before; else the service may have
        moved since another job, and every new text would be refused for good.
        """
        all_jobs = self.counting.retry_failed
        column, value = ("endpoint", self.ledger.base_url) if all_jobs else ("job_id", self.number)
        return bool(self.ledger.database.rows(WAS_ANSWERED.format(column), value))

    def first_rows(self, system: System, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Return the first rows of calls: where they are bought, and where their cost is shown."""
        return dict(self.ledger.database.rows_of(digests, FIRST_ROWS, self.number, system))

    def calls(self) -> CallCount:
        """Count the distinct calls noted so far."""
        values = (*self._counting(), *self._lost(), self.counting.most_lost, self.number)
        [count] = self.ledger.database.rows(COUNT_CALLS, *values)
        return CallCount(*map(int, count))

    def to_buy(
        self, system: System, digests: Sequence[bytes]
    ) -> dict[tuple[bytes, int], tuple[int, bool]]:
        """Return which calls to buy, by digest and first row.

        Returns:
            How many more lost answers each may have, and whether it was sent before, in any job.
        """
        values = self.counting.most_lost, *self._lost(), self.ledger.base_url, *self._counting()
        rows = self.ledger.database.rows_of(digests, TO_BUY, *values, self.number, system)
        return {(digest, row): (losses, bool(sent)) for digest, row, losses, sent in rows}

    def unattributed(self) -> Decimal:
        """Return what this job paid for calls that no longer have a row, US dollars."""
        rows = self.ledger.database.rows(UNATTRIBUTED, self.number)
        return total(times(amount(cost), often) for cost, often in rows)

    def errors(self, system: System, digests: Sequence[bytes]) -> dict[bytes, str]:
        """Return the last attempt's error of calls that have no lasting answer from this job."""
        rows = self.ledger.database.rows_of(digests, ERRORS, self.number, system)
        last = {digest: (state, error) for digest, state, error in rows}
        return {
            digest: error or INTERRUPTED
            for digest, (state, error) in last.items()
            if state not in LASTING
        }

    def unconfirmed(self, system: System, digests: Sequence[bytes]) -> dict[bytes, int]:
        """Count the lost answers of calls, in any job; calls without any are left out."""
        return dict(self.ledger.database.rows_of(digests, UNCONFIRMED, *self._lost(), system))

    def highest_price(self) -> Decimal:
        """Return the highest price that a response to this job stated, US dollars."""
        rows = self.ledger.database.rows(JOB_PRICES, self.number)
        return max((amount(cost) for (cost,) in rows), default=ZERO)

    def money(self) -> Tally:
        """Add up the attempts so far."""
        return tally_of(self.ledger.database.rows(JOB_ATTEMPTS, self.number))

    def _counting(self) -> tuple[str, int, float, float]:
        """Return the parameters of `COUNTS`."""
        max_age = self.counting.max_age
        since = 0.0 if max_age is None else self.opened_at - max_age
        return self.ledger.base_url, self.number, since, self._failures_since()

    def _lost(self) -> tuple[str, int, float]:
        """Return the parameters of `LOST`."""
        return self.ledger.base_url, self.number, self._failures_since()

    def _failures_since(self) -> float:
        return self.opened_at if self.counting.retry_failed else 0.0


def close_jobs(database: Database, numbers: Iterable[int], now: float) -> None:
    """Close jobs, all or none; they need no first rows any more."""
    closed = [(now, number) for number in numbers]
    forgotten = [(number,) for _, number in closed]
    with database.transaction() as connection:
        connection.executemany(CLOSE, closed)
        connection.executemany(FORGET_ROWS, forgotten)


EVERYTHING = Counting()

NO_JOB = 0
"""The number of a plan whose job is not open; jobs count from 1."""

OPEN = """
    INSERT INTO jobs (endpoint, identity, opened_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
"""

OPENED = """
    SELECT job_id, opened_at FROM jobs WHERE endpoint = ? AND identity = ? AND closed_at IS NULL
"""

PRICES = """
    SELECT DISTINCT cost_usd FROM jobs JOIN attempts USING (job_id)
    WHERE endpoint = ? AND cost_usd IS NOT NULL AND resolved_at IS NULL
    AND NOT ((state = 'refused' OR account = 'demo') AND CAST(cost_usd AS REAL) = 0)
    AND status IS NOT 204
"""
"""What calls cost. A free refusal, a free demo call and a call for which nothing was sent (204) say
nothing of the price of a call."""

FOUND = """
    WITH found AS (
        SELECT * FROM attempts WHERE account = ? AND settled_at IS NULL
        UNION ALL SELECT * FROM attempts WHERE account = ? AND settled_at >= ?
    )
"""
"""An account's attempts that were under way at a time or later."""

SINCE = f"""
    {FOUND}
    SELECT settled_at, CASE WHEN resolved_at IS NULL THEN state ELSE 'unconfirmed' END
    FROM found JOIN jobs USING (job_id)
    WHERE {AT_ADDRESS} AND NOT (state = 'free' AND status IS NULL AND resolved_at IS NULL)
    ORDER BY sent_at
"""  # noqa: S608 - a constant

SPENT_SINCE = f"""
    {FOUND}
    SELECT state, cost_usd, reserved_usd, count(*) FROM found JOIN jobs USING (job_id)
    WHERE {AT_ADDRESS} GROUP BY state, cost_usd, reserved_usd
"""  # noqa: S608 - a constant

REFUSAL = "SELECT slots, paused_until, learned_at FROM lessons WHERE endpoint = ? AND account = ?"

RECOVER = f"""
    UPDATE attempts SET state = 'unconfirmed', error = ?, settled_at = ?
    WHERE account = ? AND settled_at IS NULL
    AND job_id IN (SELECT job_id FROM jobs WHERE {AT_ADDRESS})
"""  # noqa: S608 - a constant


class Ledger:
    """A ledger file, for one base URL: answers from another one are never used.

    Args:
        path: the file; it is created if it does not exist.
        base_url: the canonical base URL.
        now: returns the time, seconds since 1970.

    Attributes:
        base_url, now: as above.
        address: the base URL without the name of a language model.
        database: the file.
        high_water: its last attempt, as noted outside it.
        spare: the path of the file for answers that cannot be written.

    Raises:
        LedgerError: the file cannot be used. Every method may raise it.
    """

    def __init__(self, path: Path, base_url: str, now: Callable[[], float] = time.time) -> None:
        self.base_url = base_url
        self.now = now
        self.address = address_of(base_url)
        self._at_address = len(self.address) + 1, f"{self.address}#"  # parameters of AT_ADDRESS
        self.database = Database(path)
        self.high_water = HighWaterMark(self.database)
        self.spare = place_of_spare(path, self.address)
        try:
            take_in(self.database, self.spare)  # without it, a held call would not be bought at all
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def open_job(self, identity: str, counting: Counting = EVERYTHING) -> LedgerJob:
        """Return the open job with an identity; open it if there is none.

        Its first rows are forgotten: the table may have changed since an earlier run.
        """
        with self.database.transaction() as connection:
            connection.execute(OPEN, (self.base_url, identity, self.now()))
            number, opened_at = connection.execute(OPENED, (self.base_url, identity)).fetchone()
            connection.execute(FORGET_ROWS, (number,))
        return LedgerJob(self, number, opened_at, counting)

    def find_job(self, identity: str, counting: Counting = EVERYTHING) -> LedgerJob | None:
        """Return the open job with an identity; None if there is none."""
        for number, opened_at in self.database.rows(OPENED, self.base_url, identity):
            return LedgerJob(self, number, opened_at, counting)
        return None

    def open_plan(self, identity: str, counting: Counting = EVERYTHING) -> LedgerJob:
        """Return a plan, which sees what the job with an identity sees, and disturbs no run.

        The ledger must have no other job open.
        """
        self.database.use_own_first_rows()
        return self.find_job(identity, counting) or LedgerJob(self, NO_JOB, self.now(), counting)

    def prices(self, most: Decimal) -> tuple[Decimal, Decimal] | None:
        """Return the lowest and the highest price up to ``most``; None before the first."""
        every = (amount(cost) for (cost,) in self.database.rows(PRICES, self.base_url))
        seen = [cost for cost in every if cost <= most]
        return (min(seen), max(seen)) if seen else None

    def attempts_since(self, key_fingerprint: str, since: float) -> list[PastAttempt]:
        """Return the attempts with a key that were under way at a time or later.

        Attempts that never left this machine (free, without a status) are not included.
        """
        rows = self.database.rows(SINCE, *self._attempts_of(key_fingerprint, since))
        return [PastAttempt(*row) for row in rows]

    def spent_since(self, key_fingerprint: str, since: float) -> Tally:
        """Add up the attempts with a key, of all jobs, that were under way at a time or later."""
        rows = self.database.rows(SPENT_SINCE, *self._attempts_of(key_fingerprint, since))
        return tally_of(rows)

    def _attempts_of(self, key_fingerprint: str, since: float) -> tuple[object, ...]:
        """Return the parameters of `FOUND` and `AT_ADDRESS`."""
        return key_fingerprint, key_fingerprint, since, *self._at_address

    def recover(self, key_fingerprint: str) -> int:
        """Mark the attempts that a crash left as sent as unconfirmed; return how many.

        Those whose end is in the spare file get that end.

        Only the key's one buyer may do this: another buyer's attempts would be under way. They
        count as ended now, because nobody knows when the service received them.
        """
        take_in(self.database, self.spare)
        values = (INTERRUPTED, self.now(), key_fingerprint, *self._at_address)
        with self.database.transaction() as connection:
            return connection.execute(RECOVER, values).rowcount

    def last_refusal(self, key_fingerprint: str) -> RateRefusal | None:
        """Return the last refusal for the rate limit; None without one."""
        rows = self.database.rows(REFUSAL, self.address, key_fingerprint)
        if not rows:
            return None
        if not all(isinstance(value, int | float) for value in rows[0]):
            raise LedgerError(
                f"The ledger {self.database.path} has a record of a refusal that is not valid: "
                f"{rows[0]!r}.",
                f"Restore the ledger from a good copy, or name another: {LEDGER}.",
            )
        slots, paused_until, learned_at = rows[0]
        return RateRefusal(slots, paused_until - learned_at, learned_at)
