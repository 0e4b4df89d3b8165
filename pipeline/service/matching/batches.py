"""Batches concurrent work: texts to score, charges to commit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["Batches"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batches(Generic[Item, Result]):
    """Hands items to blocking work, in a thread, one batch after the other.

    Items that arrive during a batch go into the next one. So a single caller never waits, and many
    callers share the costs that do not grow with the number of items.

    Callers that ask again as soon as they are answered would split into two groups that take turns,
    and each batch would have half of them. So the next batch waits until as many further items have
    arrived as were just answered, but not for long: a caller may not ask again.

    Args:
        work: takes items and returns their results, in the same order.
        most: the maximum size of a batch.
        pause: how long the next batch waits for them at most, as a share of the time of the last.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        most: int,
        pause: float = 0.0,
    ) -> None:
        self._work = work
        self._most = most
        self._pause = pause
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._working: asyncio.Task[None] | None = None
        self._expected, self._until = 0, 0.0
        self._all_there = asyncio.Event()

    async def result(self, item: Item) -> Result:
        """Return the result of an item, or raise the error of its batch."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work_off())
        elif len(self._waiting) >= self._expected:
            self._all_there.set()
        return await future

    async def _work_off(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await self._for_others(self._until - loop.time())
            started = loop.time()
            count = min(self._most, len(self._waiting))
            items, futures = zip(*(self._waiting.popleft() for _ in range(count)), strict=True)
            try:
                results = await asyncio.to_thread(self._work, items)
                for future, result in zip(futures, results, strict=True):
                    if not future.done():  # else its caller has gone
                        future.set_result(result)
            except Exception as error:  # for all callers that still wait
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            self._expected = min(self._most, len(self._waiting) + count)
            self._until = loop.time() + self._pause * (loop.time() - started)

    async def _for_others(self, seconds: float) -> None:
        """Wait until as many items are there as expected, but no longer than some seconds."""
        if seconds <= 0 or len(self._waiting) >= self._expected:
            return
        self._all_there = asyncio.Event()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._all_there.wait()
