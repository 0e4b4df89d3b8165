"""Reports a purchase's progress once a second, even while it waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pipeline.money import plain
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.limits import Budget
from pipeline.paid.pool import Pool
from pipeline.quoting import how_many
from pipeline.rate import duration

SECONDS_BETWEEN_NOTES = 1.0
"""Not after each attempt: to compute the time left would slow down many short attempts."""

SHOWN_FAILURES = 3
"""After fewer failures in a row, the service does not count as down."""

SLOW_S = 10.0
"""An attempt that takes longer is shown: nobody knows yet whether it will be answered. So is a
write to the ledger: another program may have locked it."""

SHOWN_WAIT_S = 2.0
"""Shorter waits for the rate limit are not shown."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def show_progress(
    pool: Pool, rows: int, advance: Callable[[int, str], None]
) -> AsyncIterator[None]:
    """Report the progress of a pool while a block runs.

    Args:
        pool: buys the calls.
        rows: how many rows the table has.
        advance: receives how many more calls have ended, and a note.
    """
    shown = 0
    down = False
    clock = asyncio.get_running_loop().time
    begun = clock()

    def show() -> None:
        nonlocal shown, down
        if down != (pool.progress.failures >= SHOWN_FAILURES):
            down = not down
            _log(pool, down)
        ended = pool.progress.calls
        per_minute = 60 * ended / max(SECONDS_BETWEEN_NOTES, clock() - begun)
        whole = f"{min(rows, pool.progress.rows):,} of {rows:,} rows"
        advance(ended - shown, f"{whole}, {_note(pool, per_minute)}")
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
        if not pool.parked:  # else its message says so
            _warn_of_overshoot(pool.budget)


def _log(pool: Pool, down: bool) -> None:
    """Log at once that attempts fail, or that the service answers again."""
    if not down:
        log.info("The service answers again.")
    elif not pool.parked:
        log.warning(
            f"{pool.progress.failures} attempts in a row failed: {pool.progress.detail}. "
            "The run keeps trying for a while, then stops."
        )


def _warn_of_overshoot(budget: Budget) -> None:
    for allowance in budget.allowances:
        if allowance.overshoot:
            log.warning(
                f"The last calls cost more than expected: {plain(allowance.overshoot)} USD over "
                f"{allowance.option}."
            )


def _note(pool: Pool, per_minute: float) -> str:
    """Return the rate, what was spent, and what the run waits for or how long it will take."""
    bought, throttle, parts = pool.progress, pool.throttle, [f"{plain(pool.budget.confirmed)} USD"]
    if bought.refusals:
        parts.append(f"{bought.refusals:,} refused")
    if (writing := pool.journal.writing_for) >= SLOW_S:
        parts.append(f"waiting for {_time(writing)} to write the ledger")
    elif throttle.pause_left:
        parts.append(f"the service asked to wait {_time(throttle.pause_left)}")
    elif bought.failures >= SHOWN_FAILURES:
        parts.append(_down(pool))
    elif pool.parked:
        parts += _stopping(throttle)
    else:
        rate = [f"{per_minute:,.0f} calls/min"] * (per_minute >= 1)
        parts = [*rate, *parts, *_under_way(pool)]
    return ", ".join(parts)


def _down(pool: Pool) -> str:
    """Return why the service counts as down, and when the next attempt is sent."""
    bought, seconds = pool.progress, pool.next_try
    waiting = "" if pool.parked or seconds is None else f", next try in {_time(seconds)}"
    return f"{bought.failures} failures in a row{waiting}: {bought.detail}"


def _stopping(throttle: Throttle) -> list[str]:
    count = throttle.under_way
    return [f"stopping, waiting for {how_many(count, 'answer')}"] if count else []


def _under_way(pool: Pool) -> list[str]:
    """Return why nothing may happen for some seconds, or how long the rest will take."""
    throttle = pool.throttle
    if throttle.longest_under_way >= SLOW_S:
        return [f"waiting for an answer for {_time(throttle.longest_under_way)}"]
    seconds, parts = pool.next_try, list[str]()
    if seconds is not None and not throttle.under_way:
        cause = f": {pool.progress.detail}" if pool.progress.detail else ""
        return [f"next try in {_time(seconds)}{cause}"]
    if pool.to_send and not throttle.under_way and throttle.next_slot >= SHOWN_WAIT_S:
        parts.append(f"the rate limit allows the next call in {_time(throttle.next_slot)}")
    if left := throttle.eta(pool.to_send):
        parts.append(f"{_time(left)} left")
    return parts


def _time(seconds: float) -> str:
    """Format a duration that has not passed yet: never "0 s"."""
    return duration(max(1.0, seconds))
