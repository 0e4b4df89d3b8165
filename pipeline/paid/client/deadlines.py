"""Time limits that count only the time in which this process ran."""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["Deadlines"]

LONGEST_BEAT = 0.1
BEATS = 4
"""A time limit has at least this many beats; a short limit has shorter beats."""

STOPPED = 1.0
"""If a beat comes this many seconds late, the process was stopped."""


class Deadlines:
    """Gives every block of asynchronous code the same time limit, in one event loop.

    While a process is stopped (Ctrl-Z, a suspended machine) the clock may continue. Answers that
    arrived meanwhile wait in its sockets; to give them up would mean to pay for them again. So
    time is counted in beats of a timer. A beat that is late because the process was stopped counts
    as if it were on time. A block whose time is over gets one more beat, to read what has arrived.

    Args:
        seconds: how long a block may take; it may take two beats, at most 0.2 s, longer.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._beat = min(LONGEST_BEAT, seconds / BEATS)
        self._ran = 0.0
        self._open: dict[asyncio.Timeout, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def limited(self) -> _Limited:
        """Limit a block: ``async with deadlines.limited()``.

        It raises a `TimeoutError` if the block took too long, and was cancelled.
        """
        if self._timer is None:
            self._next_beat(asyncio.get_running_loop())
        limit = asyncio.timeout(None)
        return _Limited(limit, self._open, self._ran + self._seconds)

    def _next_beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._beat, self._on_beat, loop, loop.time())

    def _on_beat(self, loop: asyncio.AbstractEventLoop, last: float) -> None:
        self._timer = None
        if not self._open:
            return
        for limit in [limit for limit, end in self._open.items() if end <= self._ran]:
            del self._open[limit]  # an expired timeout cannot be rescheduled
            limit.reschedule(loop.time())
        passed = loop.time() - last
        self._ran += self._beat if passed > self._beat + STOPPED else passed
        self._next_beat(loop)


class _Limited:
    """A limit that is in `Deadlines._open` from the beginning of its block to the end.

    `contextlib` takes four times as long to make one.
    """

    __slots__ = ("_end", "_limit", "_open")

    def __init__(
        self, limit: asyncio.Timeout, open_: dict[asyncio.Timeout, float], end: float
    ) -> None:
        self._limit = limit
        self._open = open_
        self._end = end

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()
        self._open[self._limit] = self._end

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.pop(self._limit, None)
        await self._limit.__aexit__(kind, error, trace)
