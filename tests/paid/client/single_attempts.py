"""Single attempts through a throttle: answered, refused, or several at once."""

from __future__ import annotations

import asyncio

from pipeline.paid.client.throttle import Throttle


async def take(limiter: Throttle, remaining: int | None = 1, seconds: float = 0.0) -> float:
    """Make an attempt that is answered after some seconds; return when it was sent."""
    with await limiter.slot(None if remaining is None else lambda: remaining) as slot:
        sent = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds)
        slot.answered()
    return sent


async def refuse(limiter: Throttle, retry_after: float | None = None) -> None:
    with await limiter.slot(lambda: 1) as slot:
        slot.refused(retry_after)


async def together(attempts: int, limiter: Throttle, remaining: int | None = 1) -> list[float]:
    """Ask for attempts at the same time; return when each was sent, in the order of asking."""
    return list(await asyncio.gather(*(take(limiter, remaining) for _ in range(attempts))))
