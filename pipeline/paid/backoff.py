"""Waits between the tries of a call, longer each time."""

from __future__ import annotations

import asyncio
import random

__all__ = ["back_off"]

FIRST_BACKOFF, LONGEST_BACKOFF = 1.0, 60.0
"""Seconds after the first failure; doubled after each further one, up to the longest."""


async def back_off(tries: int, stopping: asyncio.Event) -> None:
    """Wait after a number of failed tries, with jitter; return early if the run is stopping."""
    longest = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (tries - 1))
    pause = longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
    try:
        async with asyncio.timeout(pause):
            await stopping.wait()
    except TimeoutError:
        return
