"""Waits between the tries of a call, longer each time."""

from __future__ import annotations

import asyncio
import random

__all__ = ["BackOffs"]

FIRST_BACKOFF, LONGEST_BACKOFF = 1.0, 60.0
"""Seconds after the first failure; doubled after each further one, up to the longest."""


class BackOffs:
    """The waits of a pool's workers."""

    def __init__(self) -> None:
        self._ends: list[float] = []

    async def wait(self, stopping: asyncio.Event, tries: int, asked: float | None = None) -> None:
        """Wait after a number of failed tries, with jitter.

        Args:
            stopping: ends the wait early.
            tries: how many have failed.
            asked: the least seconds to wait, if the service says.
        """
        longest = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (tries - 1))
        jittered = longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
        pause = max(jittered, asked or 0.0)
        end = asyncio.get_running_loop().time() + pause
        self._ends.append(end)
        try:
            async with asyncio.timeout_at(end):
                await stopping.wait()
        except TimeoutError:
            return
        finally:
            self._ends.remove(end)

    @property
    def next_try(self) -> float | None:
        """How many seconds remain of the wait that ends first; None if no worker waits."""
        if not self._ends:
            return None
        return max(0.0, min(self._ends) - asyncio.get_running_loop().time())
