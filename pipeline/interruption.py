"""Lets one thread interrupt another that works for it, as a signal interrupts the main thread."""

from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

__all__ = ["Interruption"]

LOOK_UP = 0.2
"""Seconds of waiting after which Python looks for signals: one that comes in the moment before a
thread begins to wait does not wake it."""


class Interruption:
    """Interrupts the thread that looks at it, each time that another one asks for it."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._news: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def ask(self) -> None:
        """Interrupt the other thread; from any thread."""
        self._asked.set()
        self._news.put(True)

    def check(self) -> None:
        """Go on unless it was asked for.

        Raises:
            asyncio.CancelledError: it was.
        """
        if self._asked.is_set():
            raise asyncio.CancelledError

    def wait(self, work: Future[Any]) -> None:
        """Wait until some work has ended, however it did.

        Raises:
            asyncio.CancelledError: an interruption was asked for; once for each time.
        """
        work.add_done_callback(lambda _: self._news.put(False))
        while not work.done():
            with suppress(queue.Empty):
                if self._news.get(timeout=LOOK_UP):
                    raise asyncio.CancelledError
