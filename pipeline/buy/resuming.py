"""The throttle goes on where the runs before left it: the limit knows nothing of restarts."""

from __future__ import annotations

import asyncio
import logging
import time

from pipeline.api.throttle import Throttle
from pipeline.buy.progress import duration
from pipeline.buy.terms import PurchaseSettings
from pipeline.ledger import Ledger, Lesson
from pipeline.rate import Rate

__all__ = ["held_slots", "pause_left", "resumed_throttle"]

log = logging.getLogger(__name__)


def resumed_throttle(ledger: Ledger, account: str, how: PurchaseSettings) -> Throttle:
    """Make the throttle of a run, in the running event loop.

    Args:
        ledger: what earlier runs sent and learned.
        account: the fingerprint of the key.
        how: which limit is kept, and how.
    """
    now, clock = time.time(), asyncio.get_running_loop().time()
    slots = paused_until = None
    if lesson := ledger.lesson(account):
        left = _left(lesson, now)
        slots, paused_until = lesson.slots, clock + (min(left, 0.0) if how.ignore_pause else left)
        if left > 0:
            log.warning(_told(left, how))
    return Throttle(
        how.limit,
        burst=how.burst,
        busy_until=[end - now + clock for end in _held(ledger, account, how.limit, now)],
        slots=slots,
        paused_until=paused_until,
    )


def pause_left(ledger: Ledger, account: str, how: PurchaseSettings) -> float:
    """Return for how long nothing is sent because the service asked earlier runs to wait, seconds.

    The arguments are those of `resumed_throttle`.
    """
    lesson = None if how.ignore_pause else ledger.lesson(account)
    return max(0.0, _left(lesson, time.time())) if lesson else 0.0


def _left(lesson: Lesson, now: float) -> float:
    """Return how long a pause still lasts; negative: for how long it has been over."""
    # A clock that was set back must not make a pause longer than it was.
    return min(lesson.paused_until - now, lesson.paused_until - lesson.learned_at)


def _told(left: float, how: PurchaseSettings) -> str:
    if how.ignore_pause:
        return f"The service asked to wait {duration(left)} more; --ignore-pause sends at once."
    return f"The service asked to wait: nothing is sent for {duration(left)}."


def held_slots(ledger: Ledger, account: str, limit: Rate) -> int:
    """Return how many slots earlier runs hold still."""
    now = time.time()
    return sum(end > now for end in _held(ledger, account, limit, now))


def _held(ledger: Ledger, account: str, limit: Rate | None, now: float) -> list[float]:
    """Return until when attempts of earlier runs hold their slots, seconds since 1970."""
    if limit is None:
        return []
    return [
        limit.lost_until(one.settled_at or now)
        if one.state in ("sent", "unconfirmed")
        else limit.answered_until(one.settled_at or now)
        for one in ledger.attempts_since(account, now - 2 * limit.hold)
    ]
