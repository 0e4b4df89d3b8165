"""Records attempts and their ends, many with one sync of the disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeAlias, TypeVar

from pipeline.paid.ledger.calls import Call, LastingState, PassingState, packed
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.limits import Lesson, Limits, Note
from pipeline.paid.ledger.room import Reserve
from pipeline.paid.ledger.unwritten import Patience, Unwritten

__all__ = ["CallEnded", "CallOpen", "Journal", "Restraint", "Settlement"]

T = TypeVar("T")
Write: TypeAlias = Callable[[sqlite3.Connection], T]

INSERT = """
    INSERT INTO attempts (job_id, system, digest, account, sent_at, reserved_usd, state)
    VALUES (?, ?, ?, ?, ?, ?, 'sent')
"""

SETTLE = """
    UPDATE attempts SET state = ?, status = ?, error = ?, cost_usd = ?, settled_at = ?
    WHERE attempt_id = ? AND state = 'sent'
"""

LEARN = "INSERT OR REPLACE INTO lessons VALUES (?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The end of an attempt that also ends its call.

    Attributes:
        state: what the response is.
        status: its HTTP status.
        body: its bytes, which the ledger keeps.
        cost_usd: its price; None if it stated none.
        error: the error type; None for an answer.
    """

    state: LastingState
    status: int
    body: bytes
    cost_usd: Decimal | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CallOpen:
    """The end of an attempt that leaves its call open; its state says if it may be billed."""

    state: PassingState
    error: str
    status: int | None = None


Settlement: TypeAlias = CallEnded | CallOpen


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A write that waits for its group, and the end that it records, if any."""

    write: Write[Any]
    done: asyncio.Future[Any]
    end: Settlement | None

    def resolve(self, result: Any) -> None:
        if self.done.done():  # the worker that waited was cancelled
            return
        if isinstance(result, Exception):
            self.done.set_exception(result)
        else:
            self.done.set_result(result)


@dataclass(frozen=True, slots=True)
class Restraint:
    """How many slots a refusal leaves in use, and for how many seconds nothing is sent."""

    slots: int
    pause: float


class Journal:
    """Records a job's attempts; a write is on the disk when its method returns.

    While one group of writes is being synced, the next one gathers, so that any number of workers
    shares one sync. A write goes ahead even if the worker that waits for it is cancelled.

    An end that cannot be written may be an answer that was paid for. It first gets the disk space
    in reserve. If that does not help, it is kept and tried again, and meanwhile no new attempt is
    recorded as sent. An async context manager, which at its end reports the answers that were
    lost nevertheless.

    Args:
        job: the job to which the attempts belong.
        key_fingerprint: names the key that pays.
        reserve: disk space for ends alone.
        limits: tells runs with other ledgers what this key used of its limit.
    """

    def __init__(
        self,
        job: Job,
        key_fingerprint: str,
        reserve: Reserve | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._job = job
        self._key_fingerprint = key_fingerprint
        self._reserve = reserve or Reserve()
        self._limits = limits
        self._notes: list[Note] = []
        self._lesson: Lesson | None = None
        self._waiting: list[_Waiting] = []
        self._flushing: asyncio.Task[None] | None = None
        # The event loop's own threads look up host names, which may take minutes in an outage.
        self._thread = ThreadPoolExecutor(1)
        self._no_room: Exception | None = None
        self._patience = Patience()
        self._unwritten = Unwritten()

    async def __aenter__(self) -> Journal:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Write what still waits; a `LedgerError` reports the answers that cannot be written."""
        self.give_up()
        while self._flushing is not None and not self._flushing.done():
            await asyncio.wait([self._flushing])
        self._thread.shutdown()
        if lost := self._unwritten.error():
            raise lost from error

    def give_up(self) -> None:
        """Try the waiting writes once more, and every later one only once."""
        self._patience.end()

    async def sent(self, call: Call, reserved_usd: Decimal) -> int:
        """Record that an attempt is about to be sent, and return its number.

        Raises:
            LedgerError: it could not be recorded, so it must not be sent.
        """
        attempt = (self._job.number, call.system, call.digest, self._key_fingerprint)
        reserved = str(reserved_usd)

        def write(connection: sqlite3.Connection) -> int:
            now = self._job.now()
            number = connection.execute(INSERT, (*attempt, now, reserved)).lastrowid or 0
            self._notes.append(Note(number, now, "sent"))
            return number

        return await self._written(write, None)

    def settling(
        self, attempt: int, end: Settlement, restraint: Restraint | None = None
    ) -> asyncio.Future[None]:
        """Record how an attempt ended, once, and what the throttle learned from it.

        Returns:
            A future that is done when the end is on the disk. A later write is never there before
            this one. A `LedgerError` means that it could not be recorded; `Ledger.recover` will
            find the attempt.
        """
        cost = body = None
        if isinstance(end, CallEnded):
            cost, body = end.cost_usd, end.body
        values = (end.state, end.status, _storable(end.error), None if cost is None else str(cost))

        def write(connection: sqlite3.Connection) -> None:
            now = self._job.now()
            ending = (*values, now, attempt)
            unsent = end.state == "free" and end.status is None
            self._notes.append(Note(attempt, now, None if unsent else end.state))
            if connection.execute(SETTLE, ending).rowcount != 1:
                raise ValueError(f"Attempt {attempt} is not under way.")
            if body is not None:
                kept = (attempt, packed(body))
                connection.execute("INSERT INTO bodies VALUES (?, ?)", kept)
            if restraint is not None:
                self._learn(connection, restraint)

        return self._written(write, end)

    def _learn(self, connection: sqlite3.Connection, restraint: Restraint) -> None:
        now = self._job.now()
        self._lesson = lesson = Lesson(restraint.slots, now + restraint.pause, now)
        values = (lesson.slots, lesson.paused_until, lesson.learned_at)
        connection.execute(LEARN, (self._job.base_url, self._key_fingerprint, *values))

    def _written(self, write: Write[T], end: Settlement | None) -> asyncio.Future[T]:
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(write, done, end))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return done

    async def _flush(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            try:
                commit = partial(copy_context().run, self._commit, group)
                results = await asyncio.get_running_loop().run_in_executor(self._thread, commit)
            except Exception as error:  # every waiter must learn of it
                await self._keep(group, error)
            else:
                self._patience.written()
                for one, result in zip(group, results, strict=True):
                    one.resolve(result)

    def _commit(self, group: list[_Waiting]) -> list[Any]:
        """Write a group; only its ends if the ledger file is gone or the reserve is used up."""
        database = self._job.database
        refusal = database.lost or self._no_room
        if refusal and not any(one.end for one in group):
            return [refusal] * len(group)
        self._notes, self._lesson = [], None
        with database.transaction(wherever=True) as connection:
            results = [
                one.write(connection) if one.end or not refusal else refusal for one in group
            ]
        if self._limits:
            self._limits.note(self._notes, self._lesson)
        return results

    async def _keep(self, group: list[_Waiting], error: Exception) -> None:
        """Refuse the attempts that were not sent; retry the ends as long as that may help."""
        ends = [one for one in group if one.end]
        for one in group:
            if not one.end:
                one.resolve(error)
        if not ends:
            return
        if self._reserve.release():
            self._no_room = error
            self._waiting[:0] = ends
        elif await self._patience.outlasts(error, len(ends)):
            self._waiting[:0] = ends
        else:
            for one in ends:
                if isinstance(one.end, CallEnded):
                    self._unwritten.add(one.end.cost_usd, error)
                one.resolve(error)


def _storable(error: str | None) -> str | None:
    """Escape lone surrogates in a service's error: SQLite would refuse the whole group."""
    return error and error.encode("utf-8", "backslashreplace").decode()
