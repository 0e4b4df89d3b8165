"""The throttle goes on where the runs before left it: the limit knows nothing of restarts."""

from __future__ import annotations

import asyncio
import logging
import time

from pipeline.api.throttle import Throttle
from pipeline.buy.progress import duration
from pipeline.buy.terms import PurchaseSettings
from pipeline.ledger import Ledger
from pipeline.rate import Rate

__all__ = ["held_slots", "resumed_throttle"]

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
        # A clock that was set back must not make a pause longer than it was.
        left = min(lesson.paused_until - now, lesson.paused_until - lesson.learned_at)
        slots, paused_until = lesson.slots, clock + left
        if left > 0:
            log.warning(f"The service asked to wait: nothing is sent for {duration(left)}.")
    return Throttle(
        how.limit,
        burst=how.burst,
        busy_until=[end - now + clock for end in _held(ledger, account, how.limit, now)],
        slots=slots,
        paused_until=paused_until,
    )


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
