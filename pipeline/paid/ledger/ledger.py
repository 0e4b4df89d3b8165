"""The ledger for one base URL: its jobs, its prices, and what earlier runs sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from pipeline.errors import LedgerError
from pipeline.paid.ledger.database import Database
from pipeline.paid.ledger.job import FORGET_ROWS, Counting, Job
from pipeline.paid.ledger.room import place_of_spare, take_in
from pipeline.paid.ledger.schema import (
    AT_ADDRESS,
    INTERRUPTED,
    PastAttempt,
    RateRefusal,
    address_of,
    at_address,
)
from pipeline.paid.ledger.totals import Tally, amount, tally_of
from pipeline.wording import LEDGER

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
        database: the file.
        spare: the path of the file for answers that cannot be written.

    Raises:
        LedgerError: the file cannot be used. Every method may raise it.
    """

    def __init__(self, path: Path, base_url: str, now: Callable[[], float] = time.time) -> None:
        self.base_url = base_url
        self.now = now
        self.database = Database(path)
        self.spare = place_of_spare(path, base_url)
        try:
            take_in(self.database, self.spare)  # without it, a held call would not be bought at all
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def open_job(self, identity: str, counting: Counting = EVERYTHING) -> Job:
        """Return the open job with an identity; open it if there is none.

        Its first rows are forgotten: the table may have changed since an earlier run.
        """
        with self.database.transaction() as connection:
            connection.execute(OPEN, (self.base_url, identity, self.now()))
            row = connection.execute(OPENED, (self.base_url, identity)).fetchone()
            number, opened_at = row
            connection.execute(FORGET_ROWS, (number,))
        return self._job(number, opened_at, counting)

    def find_job(self, identity: str) -> Job | None:
        """Return the open job with an identity; None if there is none."""
        for number, opened_at in self.database.rows(OPENED, self.base_url, identity):
            return self._job(number, opened_at, EVERYTHING)
        return None

    def open_plan(self, identity: str, counting: Counting = EVERYTHING) -> Job:
        """Return a plan, which sees what the job with an identity sees, and disturbs no run.

        The ledger must have no other job open.
        """
        self.database.use_own_first_rows()
        job = self.find_job(identity) or self._job(NO_JOB, self.now(), counting)
        return replace(job, counting=counting)

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
        return key_fingerprint, key_fingerprint, since, *at_address(self.base_url)

    def recover(self, key_fingerprint: str) -> int:
        """Mark the attempts that a crash left as sent as unconfirmed; return how many.

        Those whose end is in the spare file get that end.

        Only the key's one buyer may do this: another buyer's attempts would be under way. They
        count as ended now, because nobody knows when the service received them.
        """
        take_in(self.database, self.spare)
        with self.database.transaction() as connection:
            values = (INTERRUPTED, self.now(), key_fingerprint, *at_address(self.base_url))
            return connection.execute(RECOVER, values).rowcount

    def last_refusal(self, key_fingerprint: str) -> RateRefusal | None:
        """Return the last refusal for the rate limit; None without one."""
        rows = self.database.rows(REFUSAL, address_of(self.base_url), key_fingerprint)
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

    def _job(self, number: int, opened_at: float, counting: Counting) -> Job:
        return Job(self.database, self.base_url, number, opened_at, self.now, counting)
