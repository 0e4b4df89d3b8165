"""Records attempts and their ends, many with one sync of the disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec

from pipeline.errors import LedgerError
from pipeline.paid.ledger.calls import (
    INTERRUPTED,
    AttemptEnd,
    Call,
    CallEnded,
    RateRefusal,
    pack,
    storable,
)
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.mark import HighWaterMark
from pipeline.paid.ledger.schema import address_of
from pipeline.quoting import how_many
from pipeline.wording import marked, option

LAST = "SELECT coalesce(max(attempt_id), 0) FROM attempts"

INSERT = """
    INSERT INTO attempts (attempt_id, job_id, system, digest, account, sent_at, reserved_usd, state)
    VALUES (?, ?, ?, ?, ?, ?, ?, 'sent')
"""

END = f"""
    UPDATE attempts SET state = ?, status = ?, error = ?, cost_usd = ?, settled_at = ?
    WHERE attempt_id = ? AND (state = 'sent' OR state = 'unconfirmed' AND error = '{INTERRUPTED}')
"""  # noqa: S608 - a constant
"""If the lock files were deleted, another run may have taken the attempt's run for killed."""

KEEP = "INSERT INTO bodies VALUES (?, ?)"

LEARN = "INSERT OR REPLACE INTO lessons VALUES (?, ?, ?, ?, ?)"


class _Sent(msgspec.Struct, frozen=True):
    """An attempt that is about to be sent; its result is its number."""

    call: Call
    reserved_usd: Decimal


class _Ended(msgspec.Struct, frozen=True):
    """The end of an attempt."""

    attempt: int
    end: AttemptEnd
    refusal: RateRefusal | None


class Journal:
    """Records a job's attempts; a write is on the disk when its method returns.

    While one group of writes is being synced, the next one gathers, so that any number of workers
    shares one sync. A write goes ahead even if the worker that waits for it is cancelled.

    An async context manager, which at its end reports the answers that could not be written.

    Args:
        job: the job to which the attempts belong.
        key_fingerprint: names the key that pays.
    """

    def __init__(self, job: Job, key_fingerprint: str) -> None:
        self._job = job
        self._key_fingerprint = key_fingerprint
        self._high_water = HighWaterMark(job.database)
        self._waiting: list[tuple[_Sent | _Ended, asyncio.Future[Any]]] = []
        self._flushing: asyncio.Task[None] | None = None
        # It starts now: later, the system may allow no more threads. An executor that cannot start
        # one raises an error, and nevertheless does the work when another thread is free.
        self._thread = ThreadPoolExecutor(1)
        self._thread.submit(int)
        self._lost = 0  # answers that could not be written
        self._error: LedgerError | None = None

    async def __aenter__(self) -> Journal:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Write what still waits; a `LedgerError` reports the answers that are lost."""
        while self._flushing is not None and not self._flushing.done():
            await asyncio.wait([self._flushing])
        self._thread.shutdown()
        if self._error:
            raise self._with_lost_answers(self._error) from error

    async def record_attempt(self, call: Call, reserved_usd: Decimal) -> int:
        """Record that an attempt is about to be sent, and return its number.

        Raises:
            LedgerError: it could not be recorded, so it must not be sent.
        """
        number: int = await self._write(_Sent(call, reserved_usd))
        return number

    async def record_end(
        self, attempt: int, end: AttemptEnd, refusal: RateRefusal | None = None
    ) -> None:
        """Record how an attempt ended, once, and what the throttle learned from it.

        A write that begins later is never on the disk before this one.

        Raises:
            LedgerError: it could not be recorded; `Ledger.recover` will find the attempt.
        """
        await self._write(_Ended(attempt, end, refusal))

    async def _write(self, one: _Sent | _Ended) -> Any:
        """Write something with the next group, and return its result."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((one, done))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return await done

    async def _flush(self) -> None:
        while self._waiting:
            group, waiters = zip(*self._waiting, strict=True)
            self._waiting = []
            try:
                results = await self._commit_in_thread(group)
            except Exception as error:  # every waiter must learn of it
                results = [error] * len(group)
                self._note_lost([one for one in group if isinstance(one, _Ended)], error)
            for done, result in zip(waiters, results, strict=True):
                if done.done():  # the worker that waited was cancelled
                    continue
                if isinstance(result, Exception):
                    done.set_exception(result)
                else:
                    done.set_result(result)

    async def _commit_in_thread(self, group: Sequence[_Sent | _Ended]) -> list[Any]:
        loop, commit = asyncio.get_running_loop(), partial(self._commit, group)
        try:
            written = loop.run_in_executor(self._thread, copy_context().run, commit)
        except RuntimeError:
            # The main thread has ended, and executors with it. Another thread may still be buying.
            return commit()
        return await written

    def _commit(self, group: Sequence[_Sent | _Ended]) -> list[Any]:
        """Write a group; only its ends if the file is lost."""
        database = self._job.database
        refusal = database.lost
        ends = [one for one in group if isinstance(one, _Ended)]
        sent = [] if refusal else [one for one in group if isinstance(one, _Sent)]
        if not ends and not sent:
            return [refusal] * len(group)
        now = self._job.now()
        with database.transaction(wherever=True) as connection:
            first = connection.execute(LAST).fetchone()[0] + 1
            numbers = range(first, first + len(sent))
            self._insert(connection, sent, numbers, now)
            _end(connection, ends, now)
            self._learn(connection, ends, now)
        if sent:
            self._high_water.note(numbers[-1], now)
        left = iter(numbers)
        return [None if isinstance(one, _Ended) else refusal or next(left) for one in group]

    def _insert(
        self, connection: sqlite3.Connection, sent: Sequence[_Sent], numbers: range, now: float
    ) -> None:
        job, key = self._job.number, self._key_fingerprint
        rows = [
            (number, job, one.call.system, one.call.digest, key, now, str(one.reserved_usd))
            for number, one in zip(numbers, sent, strict=True)
        ]
        connection.executemany(INSERT, rows)

    def _learn(self, connection: sqlite3.Connection, ends: Sequence[_Ended], now: float) -> None:
        """Keep the last refusal for the rate limit, if there is one."""
        for refusal in [one.refusal for one in ends if one.refusal is not None][-1:]:
            key = address_of(self._job.base_url), self._key_fingerprint
            connection.execute(LEARN, (*key, refusal.slots, now + refusal.pause, now))

    def _note_lost(self, ends: Sequence[_Ended], error: Exception) -> None:
        """Note ends that cannot be recorded because of an error."""
        self._lost += sum(isinstance(one.end, CallEnded) for one in ends)
        if ends and isinstance(error, LedgerError):
            self._error = self._error or error

    def _with_lost_answers(self, error: LedgerError) -> LedgerError:
        """Return the error with how many answers are lost."""
        message, hint = marked(error.message), marked(error.hint)
        if self._lost:
            message += f" Lost: {how_many(self._lost, 'answer')}."
            hint += (
                " The calls of the lost answers are unconfirmed. The next run buys them once more, "
                f"unless you give {option('on_unconfirmed', 'hold')}."
            )
        return LedgerError(message, hint)


def _end(connection: sqlite3.Connection, ends: Sequence[_Ended], now: float) -> None:
    rows = [
        (
            one.end.state,
            one.end.status,
            one.end.error and storable(one.end.error),
            None if one.end.cost_usd is None else str(one.end.cost_usd),
            now,
            one.attempt,
        )
        for one in ends
    ]
    if rows and connection.executemany(END, rows).rowcount != len(rows):
        raise ValueError(f"Of these attempts one is not under way: {[row[-1] for row in rows]}.")
    bodies = [(one.attempt, pack(one.end.body)) for one in ends if isinstance(one.end, CallEnded)]
    connection.executemany(KEEP, bodies)
