"""Runs a purchase in its own event loop: shows its progress, and stops it in an orderly way."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from datetime import timedelta
from typing import Any, TypeAlias

from pipeline.interruption import Interruption, Work
from pipeline.money import plain
from pipeline.paid.limits import Budget
from pipeline.paid.pool import Pool
from pipeline.purchases import Parked
from pipeline.rate import duration
from pipeline.wording import RUN_AGAIN, how_many

INTERRUPTED = 130
SIGNALS = {129: "Hung up.", INTERRUPTED: "Interrupted.", 143: "Terminated."}
"""The exit code of a process that a signal ended, and what the signal means."""

LONGEST_WAIT = 60.0

HINT = f"What was bought is kept. {RUN_AGAIN}: it continues."

log = logging.getLogger(__name__)


class StopRequest:
    """Stops a pool from another thread: the first time in an orderly way, the second at once."""

    def __init__(self) -> None:
        self._reasons: list[Parked] = []
        self._notify: Callable[[], object] = lambda: None
        self._lock = threading.Lock()

    def set(self, why: Parked) -> None:
        """Stop; a pool that has not started yet stops before it sends anything."""
        with self._lock, suppress(RuntimeError):  # the loop has ended
            self._reasons.append(why)
            self._notify()

    @contextmanager
    def watching(self, pool: Pool, max_duration: timedelta | None) -> Iterator[None]:
        """Stop a pool if asked to, or when its time is up; call this in the pool's loop."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def notify() -> None:
            if self._reasons:
                pool.park(self._reasons[0])
            if len(self._reasons) > 1 and task is not None:
                task.cancel()

        timer = None
        seconds = None if max_duration is None else max_duration.total_seconds()
        if seconds == 0:
            pool.stop_for_time(seconds)  # before it sends anything
        elif seconds is not None:
            timer = loop.call_later(seconds, pool.stop_for_time, seconds)
        with self._lock:
            self._notify = lambda: loop.call_soon_threadsafe(notify)
            notify()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()


Buying: TypeAlias = Callable[[StopRequest], Coroutine[Any, Any, Parked | None]]


def buy_in_thread(buying: Buying, interruption: Interruption | None = None) -> Parked | None:
    """Buy in another thread's event loop, and wait; this thread may run an event loop too.

    Whatever interrupts the wait (a signal's exception, a cancelled task) stops the purchase: it
    finishes what is under way, and sends nothing new. The second time it stops at once.

    Returns:
        Why it stopped before its end, if it did.

    Raises:
        BaseException: what interrupted the wait, if it was not a signal, or came twice.
    """
    stop_request, context = StopRequest(), copy_context()
    work = Work(lambda: context.run(_run, buying(stop_request)))
    try:
        stopped = _wait_for(work, stop_request, interruption or Interruption())
    finally:
        if not work.ended:
            stop_request.set(_reason(INTERRUPTED))
        work.forestall()  # if a signal came before its thread had started
        while not work.ended:
            with suppress(BaseException):  # one more signal: the other thread still uses the ledger
                work.wait(LONGEST_WAIT)
    return stopped or work.result()


def _run(buying: Coroutine[Any, Any, Parked | None]) -> Parked | None:
    """Run a purchase in a new event loop."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(buying)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes uvloop's event loops, which take less time, if it is installed."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


def _wait_for(
    work: Work[Parked | None], stop_request: StopRequest, interruption: Interruption
) -> Parked | None:
    """Begin a purchase and wait for it; return why it was interrupted, if it was."""
    try:
        work.begin()
        interruption.wait(work)
    except BaseException as stop:
        code = _signal(stop)
        stop_request.set(_reason(code or INTERRUPTED))
        work.forestall()
        try:
            log.info("Stopping after the requests under way. Interrupt again to stop at once.")
            interruption.wait(work)
        except BaseException:  # it goes through, and the stop_request is pressed again
            log.warning("Answers under way are lost, and may be billed. All others are kept.")
            raise
        if code is None and work.error is None:
            raise
        return None if code is None else _reason(code)
    return None


def _signal(stop: BaseException) -> int | None:
    """Return the exit code for a signal's exception; None for any other exception."""
    code = INTERRUPTED if isinstance(stop, KeyboardInterrupt) else getattr(stop, "code", None)
    return code if code in SIGNALS else None


def _reason(code: int) -> Parked:
    return Parked(code, SIGNALS[code], HINT)


SECONDS_BETWEEN_NOTES = 1.0
"""Not after each attempt: to compute the time left would slow down many short attempts."""

SHOWN_FAILURES = 3
"""After fewer failures in a row, the service does not count as down."""

SLOW_S = 10.0
"""An attempt that takes longer is shown: nobody knows yet whether it will be answered."""

SHOWN_WAIT_S = 2.0
"""Shorter waits for the rate limit are not shown."""


@contextmanager
def show_progress(pool: Pool, advance: Callable[[int, str], None]) -> Iterator[None]:
    """Report the progress of a pool while a block runs in its event loop.

    Args:
        pool: buys the calls.
        advance: receives how many more calls have ended, and a note.
    """
    shown = 0
    down = False
    loop = asyncio.get_running_loop()
    begun = loop.time()
    timer: asyncio.TimerHandle

    def show() -> None:
        nonlocal shown, down
        if down != (pool.progress.failures >= SHOWN_FAILURES):
            down = not down
            _log(pool, down)
        ended = pool.progress.calls
        per_minute = 60 * ended / max(SECONDS_BETWEEN_NOTES, loop.time() - begun)
        advance(ended - shown, _note(pool, per_minute))
        shown = ended

    def keep_showing() -> None:
        nonlocal timer
        show()
        timer = loop.call_later(SECONDS_BETWEEN_NOTES, keep_showing)

    timer = loop.call_later(SECONDS_BETWEEN_NOTES, keep_showing)
    try:
        yield
    finally:
        timer.cancel()
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
    throttle, waiting, to_send = pool.throttle, _waiting(pool), pool.to_send
    parts = [f"{plain(pool.budget.confirmed)} USD"]
    if pool.progress.refusals:
        parts.append(f"{pool.progress.refusals:,} refused")
    if waiting:
        return ", ".join([*parts, waiting])
    if pool.parked:
        return ", ".join(parts)
    if per_minute >= 1:
        parts.insert(0, f"{per_minute:,.0f} calls/min")
    if to_send and not throttle.under_way and throttle.next_slot >= SHOWN_WAIT_S:
        parts.append(f"the rate limit allows the next call in {_time(throttle.next_slot)}")
    if seconds := throttle.eta(to_send):
        parts.append(f"{_time(seconds)} left")
    return ", ".join(parts)


def _waiting(pool: Pool) -> str:
    """Return why nothing may happen for some seconds, apart from the rate limit; or ""."""
    bought, throttle = pool.progress, pool.throttle
    if throttle.pause_left:
        return f"the service asked to wait {_time(throttle.pause_left)}"
    if bought.failures >= SHOWN_FAILURES:
        cause = f": {bought.detail}" if bought.detail else ""
        return f"{bought.failures} failures in a row{cause}"
    if pool.parked and throttle.under_way:
        return f"stopping, waiting for {how_many(throttle.under_way, 'answer')}"
    if not pool.parked and throttle.longest_under_way >= SLOW_S:
        return f"waiting for an answer for {_time(throttle.longest_under_way)}"
    return ""


def _time(seconds: float) -> str:
    """Format a duration that has not passed yet: never "0 s"."""
    return duration(max(1.0, seconds))
