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
        self._open: dict[_Limit, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def limited(self) -> _Limit:
        """Limit a block of a task: ``with deadlines.limited()``.

        It raises a `TimeoutError` if the block took too long, and was cancelled.
        """
        if self._timer is None:
            self._next_beat(asyncio.get_running_loop())
        limit = _Limit(self._open)
        self._open[limit] = self._ran + self._seconds
        return limit

    def _next_beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._beat, self._on_beat, loop, loop.time())

    def _on_beat(self, loop: asyncio.AbstractEventLoop, last: float) -> None:
        self._timer = None
        if not self._open:
            return
        for limit in [limit for limit, end in self._open.items() if end <= self._ran]:
            del self._open[limit]
            loop.call_soon(limit.expire)  # after the tasks that something has just arrived for
        passed = loop.time() - last
        self._ran += self._beat if passed > self._beat + STOPPED else passed
        self._next_beat(loop)


class _Limit:
    """Cancels the task of its block, like `asyncio.timeout`, which takes several times as long.

    It is in `Deadlines._open` from the beginning of its block to the end, or until it expires.
    """

    __slots__ = ("_cancelling", "_expired", "_open", "_task")

    def __init__(self, open_: dict[_Limit, float]) -> None:
        self._open = open_
        self._expired = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a client sends in a task
        self._task: asyncio.Task[object] | None = task
        self._cancelling = task.cancelling()

    def expire(self) -> None:
        """Cancel the block, if it has not ended."""
        if self._task is not None:
            self._expired = True
            self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.pop(self, None)
        task, self._task = self._task, None
        if not self._expired or task is None:
            return
        # Whoever else cancelled the task meanwhile must see it cancelled.
        if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error
