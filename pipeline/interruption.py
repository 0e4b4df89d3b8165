"""Runs work in a thread, and waits for it so that signals and other threads can interrupt."""

from __future__ import annotations

import _thread
import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")

CHECK_S = 0.2
"""Seconds between checks for signals: one that arrives just before a thread begins to wait does not
wake it, and a notebook's interrupt does not wake the event loop whose task it cancels."""


class Work(Generic[T]):
    """A function that runs in a new thread, once it is begun.

    Waiting for it takes no lock that is written in Python. A signal handler's exception can come
    between taking a `threading.Condition` and entering the block that releases it; the futures,
    executors and threads of the standard library would then wait forever.

    Args:
        do: the function.

    Attributes:
        ended: whether it has ended.
        error: the exception that it raised; None if none, or if it has not ended.
    """

    def __init__(self, do: Callable[[], T]) -> None:
        self.ended = False
        self._results: list[T] = []
        self.error: BaseException | None = None
        self._end: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._do = do
        self._runs: list[bool] = []  # the first decides: a signal may come between any two lines

    def begin(self) -> None:
        """Start the thread. A signal handler's exception may come when it has started."""
        _thread.start_new_thread(self._run, ())

    def forestall(self) -> None:
        """End the work before it begins; if it has begun, it goes on."""
        self._runs.append(False)
        if not self._runs[0]:
            self.ended = True

    def wake(self) -> None:
        """End one call of `wait` now."""
        self._end.put(None)

    def wait(self, seconds: float) -> None:
        """Wait until the function has ended, for at most some seconds, or until `wake`."""
        if not self.ended:
            with suppress(queue.Empty):
                self._end.get(timeout=seconds)

    def result(self) -> T:
        """Return what the function returned; call this only after it has ended.

        Raises:
            BaseException: the function raised it.
        """
        if self.error is not None:
            raise self.error
        return self._results[0]

    def _run(self) -> None:
        self._runs.append(True)
        if not self._runs[0]:
            return
        try:
            self._results.append(self._do())
        except BaseException as error:  # raised by `result`
            self.error = error
        finally:
            self.ended = True
            self.wake()


class Interruption:
    """Lets other threads interrupt the thread that waits with it."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._waiting: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._wake: Callable[[], None] = lambda: None

    def ask(self) -> None:
        """Interrupt the waiting thread. Any thread may call this."""
        self._asked.set()
        self._waiting.put(None)
        self._wake()

    def check(self) -> None:
        """Raise an error if an interruption was asked for.

        Raises:
            asyncio.CancelledError: it was asked for.
        """
        if self._asked.is_set():
            raise asyncio.CancelledError

    def wait(self, work: Work[T]) -> None:
        """Wait until some work has ended, normally or with an error.

        Raises:
            asyncio.CancelledError: an interruption was asked for; raised once for each `ask`.
        """
        self._wake = work.wake
        while not work.ended:
            with suppress(queue.Empty):
                self._waiting.get_nowait()
                raise asyncio.CancelledError
            work.wait(CHECK_S)
