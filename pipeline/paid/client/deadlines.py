"""Time limits that count only the time in which this process ran."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Deadlines"]

LONGEST_BEAT = 0.1
BEATS = 4
"""A limit shorter than so many beats makes the beats shorter."""

STOPPED = 1.0
"""A beat that is this late, in seconds, finds that the process has not run."""


class Deadlines:
    """Gives blocks of asynchronous code one and the same time limit.

    While a process is stopped (Ctrl-Z, a suspended machine) the clock may go on. The answers that
    arrived meanwhile wait in its sockets, and giving them up would mean paying for them again. So
    time is counted in beats of a timer: a beat that comes late because the process stood still
    counts as if it had come in time, and a block whose time is over has one more beat, in which
    what has arrived is read.

    It belongs to one event loop.

    Args:
        seconds: how long a block may take; it may take two beats, at most 0.2 s, longer.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._beat = min(LONGEST_BEAT, seconds / BEATS)
        self._ran = 0.0
        self._open: dict[asyncio.Timeout, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Limit a block.

        Raises:
            TimeoutError: it took too long, and was cancelled.
        """
        async with asyncio.timeout(None) as limit:
            self._open[limit] = self._ran + self._seconds
            if self._timer is None:
                self._next_beat(asyncio.get_running_loop())
            try:
                yield
            finally:
                self._open.pop(limit, None)

    def _next_beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._beat, self._on_beat, loop, loop.time())

    def _on_beat(self, loop: asyncio.AbstractEventLoop, last: float) -> None:
        self._timer = None
        if not self._open:
            return
        for limit in [limit for limit, end in self._open.items() if end <= self._ran]:
            del self._open[limit]  # one that is ending cannot be set again
            limit.reschedule(loop.time())
        passed = loop.time() - last
        self._ran += self._beat if passed > self._beat + STOPPED else passed
        self._next_beat(loop)
