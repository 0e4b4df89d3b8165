"""Batches concurrent work: texts to score, charges to commit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

__all__ = ["Batches"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batches(Generic[Item, Result]):
    """Hands items to blocking work, in a thread, one batch after the other.

    Items that arrive during a batch go into the next one. So a single caller never waits, and many
    callers share costs that do not grow with the items.

    Args:
        work: takes items and returns their results, in the same order.
        most: the maximum size of a batch.
    """

    def __init__(self, work: Callable[[Sequence[Item]], Sequence[Result]], most: int) -> None:
        self._work = work
        self._most = most
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._working: asyncio.Task[None] | None = None

    async def result(self, item: Item) -> Result:
        """Return the result of an item, or raise the error of its batch."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work_off())
        return await future

    async def _work_off(self) -> None:
        while self._waiting:
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
