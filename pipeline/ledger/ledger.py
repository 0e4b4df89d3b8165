"""The ledger seen for one endpoint: its jobs, the answers it owns, its prices and its accounts."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pipeline.answers import System
from pipeline.ledger.calls import INTERRUPTED, Owned, State
from pipeline.ledger.database import Database
from pipeline.ledger.job import Job

__all__ = ["Ledger", "PastAttempt", "Prices"]

OWNED = """
    SELECT digest, attempts.status, body
    FROM attempts JOIN jobs USING (job_id) JOIN bodies USING (attempt_id)
    WHERE endpoint = ? AND (state = 'answered' OR ? AND state IN ('refused', 'unreadable'))
    AND system = ? AND digest IN (:digests) ORDER BY attempt_id
"""

PRICES = """
    SELECT DISTINCT cost_usd FROM jobs JOIN attempts USING (job_id)
    WHERE endpoint = ? AND cost_usd IS NOT NULL
"""

SINCE = """
    WITH found AS (
        SELECT * FROM attempts WHERE account = ? AND settled_at IS NULL
        UNION ALL SELECT * FROM attempts WHERE account = ? AND settled_at >= ?
    )
    SELECT sent_at, settled_at, state FROM found JOIN jobs USING (job_id)
    WHERE endpoint = ? AND NOT (state = 'free' AND status IS NULL) ORDER BY sent_at
"""

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


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """When an account sent a request, seconds since 1970.

    Attributes:
        sent_at: when it was written down, just before it was sent.
        settled_at: when its end was written down; None while it is under way.
        state: how it stands.
    """

    sent_at: float
    settled_at: float | None
    state: State


class Ledger:
    """One ledger file, seen for one endpoint.

    Args:
        path: the file; it is made if it is not there.
        endpoint: the canonical base URL; what another one answered is never used.
        now: the time, seconds since 1970.

    Raises:
        LedgerError: the file cannot be used; every method may raise it too.
    """

    def __init__(self, path: Path, endpoint: str, now: Callable[[], float] = time.time) -> None:
        self.endpoint = endpoint
        self._now = now
        self._database = Database(path)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def open_job(self, identity: str) -> Job:
        """Return the open job of an identity; if there is none, open one."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO jobs (endpoint, identity, opened_at) VALUES (?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (self.endpoint, identity, self._now()),
            )
            (number,) = connection.execute(
                "SELECT job_id FROM jobs WHERE endpoint = ? AND identity = ? AND closed_at IS NULL",
                (self.endpoint, identity),
            ).fetchone()
        return Job(self._database, self.endpoint, number, self._now)

    def owned(
        self, system: System, digests: Sequence[bytes], retry_failed: bool = False
    ) -> dict[bytes, Owned]:
        """Return the responses that answer calls for good; of several the last.

        Args:
            system: the calls' system.
            digests: the calls' texts.
            retry_failed: whether only answers count, not failures.
        """
        found = self._database.rows_of(digests, OWNED, self.endpoint, not retry_failed, system)
        return {digest: Owned(status, zlib.decompress(body)) for digest, status, body in found}

    def prices(self) -> Prices | None:
        """Return the lowest and the highest price seen; None before the first."""
        seen = [Decimal(cost) for (cost,) in self._database.rows(PRICES, self.endpoint)]
        return Prices(min(seen), max(seen)) if seen else None

    def attempts_since(self, account: str, since: float) -> list[PastAttempt]:
        """Return an account's attempts that were under way at a time or later, as sent.

        Those that never left this machine, free and without a status, are not among them.
        """
        found = self._database.rows(SINCE, account, account, since, self.endpoint)
        return [PastAttempt(*row) for row in found]

    def recover(self, account: str) -> int:
        """Note that the attempts a crash left as sent may have been billed; return how many.

        Only the account's one buyer may do this: another one's attempts would be under way.
        They count as settled now, since nobody knows when the service got them.
        """
        with self._database.transaction() as connection:
            values = (INTERRUPTED, self._now(), account, self.endpoint)
            return connection.execute(RECOVER, values).rowcount
