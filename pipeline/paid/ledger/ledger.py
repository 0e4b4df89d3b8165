"""The ledger seen for one endpoint: its jobs, its prices and its accounts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

from pipeline.errors import LedgerError
from pipeline.paid.ledger.calls import INTERRUPTED
from pipeline.paid.ledger.checks import check_usable
from pipeline.paid.ledger.database import Database
from pipeline.paid.ledger.job import Counting, Job
from pipeline.paid.ledger.limits import Lesson, PastAttempt
from pipeline.paid.ledger.room import check_room
from pipeline.paid.ledger.settling import Verdict, settle
from pipeline.paid.ledger.totals import amount

__all__ = ["Ledger", "Prices"]

EVERYTHING = Counting()

OPEN = """
    INSERT INTO jobs (endpoint, identity, opened_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING
"""

OPENED = """
    SELECT job_id, opened_at FROM jobs WHERE endpoint = ? AND identity = ? AND closed_at IS NULL
"""

PRICES = """
    SELECT DISTINCT cost_usd FROM jobs JOIN attempts USING (job_id)
    WHERE endpoint = ? AND cost_usd IS NOT NULL AND state != 'billed'
    AND NOT (state = 'refused' AND cost_usd = '0')
"""

SINCE = """
    WITH found AS (
        SELECT * FROM attempts WHERE account = ? AND settled_at IS NULL
        UNION ALL SELECT * FROM attempts WHERE account = ? AND settled_at >= ?
    )
    SELECT sent_at, settled_at, CASE WHEN resolved_at IS NULL THEN state ELSE 'unconfirmed' END,
        attempt_id
    FROM found JOIN jobs USING (job_id)
    WHERE endpoint = ? AND NOT (state = 'free' AND status IS NULL AND resolved_at IS NULL)
    ORDER BY sent_at
"""

LESSON = "SELECT slots, paused_until, learned_at FROM lessons WHERE endpoint = ? AND account = ?"

RECOVER = """
    UPDATE attempts SET state = 'unconfirmed', error = ?, settled_at = ?
    WHERE account = ? AND settled_at IS NULL
    AND job_id IN (SELECT job_id FROM jobs WHERE endpoint = ?)
"""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices that responses have stated so far, US dollars a call."""

    low: Decimal
    high: Decimal


class Ledger:
    """One ledger file, seen for one endpoint.

    Args:
        path: the file; it is made if it is not there.
        base_url: the canonical base URL; what another one answered is never used.
        now: the time, seconds since 1970.

    Raises:
        LedgerError: the file cannot be used; every method may raise it too.
    """

    def __init__(self, path: Path, base_url: str, now: Callable[[], float] = time.time) -> None:
        self.base_url = base_url
        self._now = now
        self._database = Database(path)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def check_place(self) -> None:
        """Look whether the file is where it was opened; see `Database.check_place`."""
        self._database.check_place()

    def check_room(self, calls: int, workers: int) -> None:
        """Look whether the disk has room for calls; see `pipeline.paid.ledger.room.check_room`."""
        check_room(self._database.path, self._database, calls, workers)

    def check_usable(self) -> None:
        """Find values that no run writes; see `pipeline.paid.ledger.checks.check_usable`."""
        check_usable(self._database)

    def open_job(self, identity: str, counting: Counting = EVERYTHING) -> Job:
        """Return the open job of an identity; if there is none, open one."""
        with self._database.transaction() as connection:
            connection.execute(OPEN, (self.base_url, identity, self._now()))
            found = connection.execute(OPENED, (self.base_url, identity)).fetchone()
        number, opened_at = found
        return self._job(number, opened_at, counting, rows_of=number)

    def open_plan(self, identity: str, counting: Counting = EVERYTHING) -> Job:
        """Return a job to plan with: it sees what the job of an identity sees.

        Its rows are its own, so that it disturbs no run; `Job.delete` takes them away again.
        """
        now = self._now()
        with self._database.transaction() as connection:
            plan = connection.execute(OPEN, (self.base_url, f"plan {uuid4()}", now)).lastrowid or 0
            found = connection.execute(OPENED, (self.base_url, identity)).fetchone()
        number, opened_at = found or (plan, now)
        return self._job(number, opened_at, counting, rows_of=plan)

    def settle(self, verdicts: Mapping[int, Verdict]) -> None:
        """Write down what became of unconfirmed attempts; see `settling.settle`."""
        settle(self._database, verdicts, self._now())

    def prices(self, most: Decimal | None = None) -> Prices | None:
        """Return the lowest and the highest price seen; None before the first.

        Args:
            most: prices above are mistakes, which nobody should reckon with.
        """
        every = (amount(cost) for (cost,) in self._database.rows(PRICES, self.base_url))
        seen = [cost for cost in every if most is None or cost <= most]
        return Prices(min(seen), max(seen)) if seen else None

    def attempts_since(self, key_fingerprint: str, since: float) -> list[PastAttempt]:
        """Return an account's attempts that were under way at a time or later, as sent.

        Those that never left this machine, free and without a status, are not among them.
        """
        found = self._database.rows(SINCE, key_fingerprint, key_fingerprint, since, self.base_url)
        return [PastAttempt(*row) for row in found]

    def recover(self, key_fingerprint: str) -> int:
        """Note that the attempts a crash left as sent may have been billed; return how many.

        Only the account's one buyer may do this: another one's attempts would be under way.
        They count as settled now, since nobody knows when the service got them.
        """
        with self._database.transaction() as connection:
            values = (INTERRUPTED, self._now(), key_fingerprint, self.base_url)
            return connection.execute(RECOVER, values).rowcount

    def lesson(self, key_fingerprint: str) -> Lesson | None:
        """Return what the last refusal for the limit taught; None if there was none."""
        found = list(self._database.rows(LESSON, self.base_url, key_fingerprint))
        if not found:
            return None
        if not all(isinstance(value, int | float) for value in found[0]):
            raise LedgerError(
                f"The ledger {self._database.path} holds {found[0]!r} as what a refusal taught.",
                "Put a good copy of the ledger in its place, or name another: --ledger PATH.",
            )
        return Lesson(*found[0])

    def _job(self, number: int, opened_at: float, counting: Counting, rows_of: int) -> Job:
        return Job(self._database, self.base_url, number, opened_at, self._now, counting, rows_of)
