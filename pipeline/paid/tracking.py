"""Reports a purchase's progress once a second, even while it waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pipeline.money import plain
from pipeline.paid.budget import Budget
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.pool import Pool
from pipeline.rate import duration

__all__ = ["shown_while"]

SECONDS_BETWEEN_NOTES = 1.0
"""Not after each attempt: to compute the time left would slow down many short attempts."""

SHOWN_FAILURES = 3
"""Fewer failures in a row are normal, and not shown."""


@asynccontextmanager
async def shown_while(
    pool: Pool, throttle: Throttle, budget: Budget, advance: Callable[[int, str], None]
) -> AsyncIterator[None]:
    """Report the progress of a pool, with its throttle and budget, while a block runs."""
    shown = 0

    def show() -> None:
        nonlocal shown
        ended = pool.bought.calls
        advance(ended - shown, _note(pool, throttle, budget))
        shown = ended

    async def keep_showing() -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_NOTES)
            show()

    showing = asyncio.create_task(keep_showing())
    try:
        yield
    finally:
        showing.cancel()
        show()


def _note(pool: Pool, throttle: Throttle, budget: Budget) -> str:
    """Return what was spent, and what the run is waiting for or how long it will take."""
    bought, parts = pool.bought, [f"{plain(budget.confirmed)} USD"]
    if bought.refusals:
        parts.append(f"{bought.refusals:,} refused")
    if throttle.pause_left:
        parts.append(f"the service asked to wait {duration(throttle.pause_left)}")
    elif bought.failures >= SHOWN_FAILURES:
        parts.append(f"{bought.failures} failures in a row: {bought.detail}")
    elif not pool.parked and (left := throttle.eta(pool.to_send)):
        parts.append(f"{duration(left)} left")
    return ", ".join(parts)
