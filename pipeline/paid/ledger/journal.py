"""Records attempts and their ends, many with one sync of the disk."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from decimal import Decimal
from functools import partial
from io import FileIO
from typing import Any, TypeVar

import msgspec

from pipeline.errors import LedgerError
from pipeline.paid.ledger.ledger import LedgerJob
from pipeline.paid.ledger.room import UnwrittenEnd, append_durably
from pipeline.paid.ledger.schema import (
    KEEP,
    UNDER_WAY,
    AttemptEnd,
    Call,
    CallEnded,
    RateRefusal,
    State,
    storable,
)
from pipeline.wording import how_many, marked, option

INSERT = """
    INSERT INTO attempts (attempt_id, job_id, system, digest, account, sent_at, reserved_usd, state)
    SELECT coalesce(max(attempt_id), 0) + 1, ?, ?, ?, ?, ?, ?, 'sent' FROM attempts
"""

LAST = "SELECT max(attempt_id) FROM attempts"

END = f"""
    UPDATE attempts SET state = ?, status = ?, error = ?, cost_usd = ?, settled_at = ?
    WHERE attempt_id = ? AND {UNDER_WAY}
"""  # noqa: S608 - a constant

ATTEMPT = "SELECT attempt_id, system, digest, sent_at FROM attempts WHERE attempt_id = ?"

LEARN = "INSERT OR REPLACE INTO lessons VALUES (?, ?, ?, ?, ?)"

WINDOW = 13
"""zlib's window is 2 to the power of this: 8 KiB, more than almost every response has. To clear the
usual 32 KiB takes as long as to compress a response."""

T = TypeVar("T")


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

    An end that cannot be written may be an answer that was paid for: it goes to the spare file. An
    async context manager, which at its end reports the answers that are not in the ledger.

    Args:
        job: the job to which the attempts belong.
        key_fingerprint: names the key that pays.
        spare: the file for ends that the ledger cannot record; None: they are lost.
    """

    def __init__(
        self,
        job: LedgerJob,
        key_fingerprint: str,
        spare: FileIO | None = None,
    ) -> None:
        self._job = job
        self._key_fingerprint = key_fingerprint
        self._spare = spare
        self._high_water = job.ledger.high_water
        self._waiting: list[tuple[_Sent | _Ended, asyncio.Future[Any]]] = []
        self._flushing: asyncio.Task[None] | None = None
        # It starts now: later, the system may allow no more threads. An executor that cannot start
        # one raises an error, and nevertheless does the work when another thread is free.
        self._thread = ThreadPoolExecutor(1)
        self._thread.submit(int)
        self._kept: list[AttemptEnd] = []
        self._lost: list[AttemptEnd] = []
        self._error: LedgerError | None = None

    async def __aenter__(self) -> Journal:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Write what still waits; a `LedgerError` reports the answers that cannot be written."""
        while self._flushing is not None and not self._flushing.done():
            await asyncio.wait([self._flushing])
        self._thread.shutdown()
        if self._error:
            raise self._unwritten_answers(self._error) from error

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

    async def _write(self, write: _Sent | _Ended) -> Any:
        """Write something with the next group, and return its result."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, done))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return await done

    async def _flush(self) -> None:
        while self._waiting:
            group, waiters = zip(*self._waiting, strict=True)
            self._waiting = []
            try:
                results = await self._in_thread(partial(copy_context().run, self._commit, group))
            except Exception as error:  # every waiter must learn of it
                results = [error] * len(group)
                await self._keep([write for write in group if isinstance(write, _Ended)], error)
            for done, result in zip(waiters, results, strict=True):
                if done.done():  # the worker that waited was cancelled
                    continue
                if isinstance(result, Exception):
                    done.set_exception(result)
                else:
                    done.set_result(result)

    async def _in_thread(self, write: Callable[[], T]) -> T:
        try:
            written = asyncio.get_running_loop().run_in_executor(self._thread, write)
        except RuntimeError:
            # The main thread has ended, and executors with it. Another thread may still be buying.
            return write()
        return await written

    def _commit(self, group: Sequence[_Sent | _Ended]) -> list[Any]:
        """Write a group; only its ends if the file is lost."""
        database, now = self._job.ledger.database, self._job.ledger.now()
        attempts = self._attempts([write for write in group if isinstance(write, _Sent)], now)
        ends = [write for write in group if isinstance(write, _Ended)]
        results = [(*_result(write.end), now, write.attempt) for write in ends]
        bodies = [(write.attempt, body) for write in ends if (body := _body(write.end)) is not None]
        lessons = self._lessons(ends, now)
        refusal = database.lost
        if refusal and not ends:
            return [refusal] * len(group)
        if refusal:
            attempts = []
        with database.transaction() as connection:
            connection.executemany(INSERT, attempts)
            (last,) = connection.execute(LAST).fetchone()
            if results and connection.executemany(END, results).rowcount != len(results):
                numbers = [write.attempt for write in ends]
                raise ValueError(f"Of these attempts one is not under way: {numbers}.")
            connection.executemany(KEEP, bodies)
            connection.executemany(LEARN, lessons)
        if attempts:
            self._high_water.note(last, now)
        left = iter(range(last - len(attempts) + 1, last + 1))
        return [None if isinstance(write, _Ended) else refusal or next(left) for write in group]

    def _attempts(self, writes: Sequence[_Sent], now: float) -> list[tuple[object, ...]]:
        job, key = self._job.number, self._key_fingerprint
        return [
            (job, write.call.system, write.call.digest, key, now, str(write.reserved_usd))
            for write in writes
        ]

    def _lessons(self, ends: Sequence[_Ended], now: float) -> list[tuple[object, ...]]:
        """Return the last refusal for the rate limit, if there is one."""
        refusals = [write.refusal for write in ends if write.refusal is not None]
        return [
            (self._job.ledger.address, self._key_fingerprint, slots, now + pause, now)
            for slots, pause, _ in refusals[-1:]
        ]

    async def _keep(self, ends: Sequence[_Ended], error: Exception) -> None:
        """Keep ends beside the ledger, which cannot record them because of an error."""
        kept = await self._in_thread(partial(self._keep_in_spare, ends))
        (self._kept if kept else self._lost).extend(ended.end for ended in ends)
        if ends and isinstance(error, LedgerError):
            self._error = self._error or error

    def _keep_in_spare(self, ends: Sequence[_Ended]) -> bool:
        """Write ends to the spare file; return whether that went well."""
        if self._spare is None:
            return False
        now = self._job.ledger.now()
        try:
            for ended in ends:
                (attempt,) = self._job.ledger.database.rows(ATTEMPT, ended.attempt)
                line = UnwrittenEnd(*attempt, now, *_result(ended.end), _body(ended.end))  # type: ignore[call-arg]
                append_durably(self._spare, msgspec.json.encode(line) + b"\n")
        except (LedgerError, OSError, ValueError):  # also if the ledger has lost the attempt
            return False
        return True

    def _unwritten_answers(self, error: LedgerError) -> LedgerError:
        """Return the error that says which answers are not in the ledger."""
        message, hint = marked(error.message), marked(error.hint)
        if kept := _count_answers(self._kept):
            message += f" Kept in {self._spare and self._spare.name}: {kept}."
            hint += " The next run takes over what is kept there."
        if lost := _count_answers(self._lost):
            message += f" Lost: {lost}."
            hint += (
                " The calls of the lost answers are unconfirmed. The next run buys them once more, "
                f"unless you give {option('on_unconfirmed', 'hold')}."
            )
        return LedgerError(message, hint)


def _result(end: AttemptEnd) -> tuple[State, int | None, str | None, str | None]:
    """Return the state, status, error and cost of an attempt, as the ledger keeps them."""
    cost = None if end.cost_usd is None else str(end.cost_usd)
    return end.state, end.status, end.error and storable(end.error), cost


def _body(end: AttemptEnd) -> bytes | None:
    """Return the response as the ledger keeps it; None if it did not end the call."""
    return zlib.compress(end.body, wbits=WINDOW) if isinstance(end, CallEnded) else None


def _count_answers(ends: Sequence[AttemptEnd]) -> str:
    """Say how many answers there are; "" without any."""
    count = sum(isinstance(end, CallEnded) for end in ends)
    return how_many(count, "answer") if count else ""
