"""Stops a purchase in good order: at a signal, or when its time is up."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipeline.buy.pool import Pool
from pipeline.report import Parked

__all__ = ["stopping"]

TIME_IS_UP = Parked(7, "The time is up.", "Run the same command: it continues.")


@contextmanager
def stopping(pool: Pool, max_duration: float | None) -> Iterator[None]:
    """Park the pool at a signal, or after some seconds; a second signal breaks off at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    signals = 0

    def signalled(code: int) -> None:
        nonlocal signals
        signals += 1
        hint = "What was bought is kept. Run the same command: it continues."
        pool.park(Parked(code, "Interrupted.", hint))
        if signals > 1 and task is not None:
            task.cancel()

    timer = None
    if max_duration is not None:
        timer = loop.call_later(max_duration, pool.park, TIME_IS_UP)
    with suppress(ValueError, RuntimeError):  # not in the main thread
        loop.add_signal_handler(signal.SIGINT, signalled, 130)
        loop.add_signal_handler(signal.SIGTERM, signalled, 143)
    try:
        yield
    except asyncio.CancelledError:
        if signals < 2:
            raise
    finally:
        if timer is not None:
            timer.cancel()
        with suppress(ValueError, RuntimeError):
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)
