"""Work in a thread of its own, and a wait for it that signals and other threads can interrupt."""

from __future__ import annotations

import _thread
import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["Interruption", "Work"]

T = TypeVar("T")

LOOK_UP = 0.2
"""Seconds of waiting after which Python looks for signals: one that comes in the moment before a
thread begins to wait does not wake it."""


class Work(Generic[T]):
    """Something that is done in a thread of its own, which begins at once.

    Whoever waits for it touches no lock that is written in Python. A signal's exception can come
    between the taking of a `threading.Condition` and the block it guards, and nobody gives the
    condition back then: the futures, executors and threads of the library would never end.

    Args:
        do: what is done.
    """

    def __init__(self, do: Callable[[], T]) -> None:
        self.ended = False
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._end: queue.SimpleQueue[None] = queue.SimpleQueue()
        _thread.start_new_thread(self._run, (do,))

    def wake(self) -> None:
        """Let one wait for it end."""
        self._end.put(None)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, no longer than some seconds, or until somebody wakes this."""
        if not self.ended:
            with suppress(queue.Empty):
                self._end.get(timeout=seconds)

    @property
    def error(self) -> BaseException | None:
        """What it raised; None if nothing, or if it has not ended."""
        return self._error

    def result(self) -> T:
        """Return what came of it, once it has ended.

        Raises:
            BaseException: what it raised.
        """
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self, do: Callable[[], T]) -> None:
        try:
            self._results.append(do())
        except BaseException as error:  # whoever waits raises it
            self._error = error
        finally:
            self.ended = True
            self.wake()


class Interruption:
    """Interrupts the thread that waits with it, each time that another one asks for it."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._waiting: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._wake: Callable[[], None] = lambda: None

    def ask(self) -> None:
        """Interrupt the other thread; from any thread."""
        self._asked.set()
        self._waiting.put(None)
        self._wake()

    def check(self) -> None:
        """Go on unless it was asked for.

        Raises:
            asyncio.CancelledError: it was.
        """
        if self._asked.is_set():
            raise asyncio.CancelledError

    def wait(self, work: Work[T]) -> None:
        """Wait until some work has ended, however it did.

        Raises:
            asyncio.CancelledError: an interruption was asked for; once for each time.
        """
        self._wake = work.wake
        while not work.ended:
            with suppress(queue.Empty):
                self._waiting.get_nowait()
                raise asyncio.CancelledError
            work.wait(LOOK_UP)
