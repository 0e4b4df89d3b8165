"""Answers that cannot be written to the ledger: how long to retry, and how to report the lost."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from decimal import Decimal

from pipeline.errors import LedgerError
from pipeline.money import ZERO, plain, total
from pipeline.quoting import how_many

__all__ = ["Patience", "Unwritten", "is_of_the_disk"]

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0

PATIENCE_S = 600.0
"""For how long answers are kept in memory if the ledger cannot be written."""

PASSING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY)
"""SQLite's primary result codes of trouble that somebody may fix meanwhile."""

log = logging.getLogger(__name__)


class Patience:
    """Waits for a ledger that cannot be written, with growing pauses, for a limited time."""

    def __init__(self) -> None:
        self._ended = asyncio.Event()
        self._since: float | None = None
        self._pause = FIRST_PAUSE_S

    def end(self) -> None:
        """Stop waiting, now and later."""
        self._ended.set()

    def written(self) -> None:
        """Note that the ledger was written."""
        if self._since is not None:
            log.warning("The ledger can be written again: no answer was lost.")
            self._since, self._pause = None, FIRST_PAUSE_S

    async def outlasts(self, error: Exception, ends: int) -> bool:
        """Wait until the next try is due; return whether there should be one.

        Args:
            error: why the last try failed.
            ends: how many ends of attempts wait to be written.
        """
        now = asyncio.get_running_loop().time()
        if self._ended.is_set() or not _is_passing(error):
            return False
        if self._since is None:
            self._since = now
            answers = f"{how_many(ends, 'answer')} {'is' if ends == 1 else 'are'}"
            log.warning(
                f"{getattr(error, 'message', error)} {answers} kept in memory, and nothing new is "
                f"sent. Nothing is lost if you fix this within {PATIENCE_S / 60:.0f} minutes: "
                f"{getattr(error, 'hint', '')} To stop waiting and lose them, interrupt (Ctrl-C)."
            )
        if now - self._since >= PATIENCE_S:
            return False
        try:
            async with asyncio.timeout(self._pause):
                await self._ended.wait()
        except TimeoutError:
            self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
        return True


class Unwritten:
    """Adds up the answers that could not be written."""

    def __init__(self) -> None:
        self._costs: list[Decimal | None] = []
        self._error: Exception | None = None

    def add(self, cost_usd: Decimal | None, error: Exception) -> None:
        """Count an answer, with its cost in US dollars (None: unknown) and why it was lost."""
        self._costs.append(cost_usd)
        self._error = self._error or error

    def error(self) -> LedgerError | None:
        """Return the error that reports them; None if there are none."""
        if not isinstance(self._error, LedgerError):
            return None
        known = [cost for cost in self._costs if cost is not None]
        silent = len(self._costs) - len(known)
        unknown = f", {silent} of them at an unknown price" if silent else ""
        return LedgerError(
            f"{self._error.message} {how_many(len(self._costs), 'answer')} could not be written: "
            f"{plain(total([ZERO, *known]))} USD paid{unknown}.",
            f"{self._error.hint} The calls of the lost answers are unconfirmed. The next run buys "
            "them once more, unless you give --on-unconfirmed hold.",
        )


def is_of_the_disk(error: Exception) -> bool:
    """Return whether a write failed at the disk, and may be there in part."""
    return _code(error) == sqlite3.SQLITE_IOERR


def _is_passing(error: Exception) -> bool:
    return _code(error) in PASSING


def _code(error: Exception) -> int:
    """Return SQLite's primary result code; 0 for an error that is not SQLite's."""
    return int(getattr(error.__cause__, "sqlite_errorcode", 0)) & 0xFF
