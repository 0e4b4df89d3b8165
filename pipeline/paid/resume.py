"""Makes the throttle of a run, with the slots and pauses that earlier runs left."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from pipeline.paid.client.throttle import Throttle
from pipeline.paid.ledger import Ledger, Lesson, Limits, PastAttempt
from pipeline.paid.service import PaidService
from pipeline.rate import AUTHENTICATED, Rate, duration

__all__ = ["held_slots", "known_limits", "pause_left", "resumed_throttle"]

log = logging.getLogger(__name__)


def known_limits(service: PaidService) -> Limits:
    """Open the file of what this user's runs on this machine know of a key's limit."""
    keep = 2 * (service.limit or AUTHENTICATED).hold
    return Limits(service.base_url, service.key_fingerprint, keep)


def resumed_throttle(ledger: Ledger, limits: Limits, service: PaidService) -> Throttle:
    """Make the throttle of a run, in the running event loop.

    No attempt can have ended later than now, and no pause can be longer than it was. If the clock
    ran ahead or was set back, times in the future count from now on, once.

    Args:
        ledger: what earlier runs with this ledger sent and learned.
        limits: the same of runs with other ledgers; only the key's one buyer may call this.
        service: which limit is kept, and how.
    """
    now, clock = time.time(), asyncio.get_running_loop().time()
    past = _past(ledger, limits, service, now)
    lesson, first = _lesson(ledger, limits, service)
    _warn_of_future(past, lesson, now)
    past = [replace(one, settled_at=min(one.settled_at or now, now)) for one in past]
    lesson = lesson and _by_this_clock(lesson, now)
    limits.replace(past, lesson, first)
    slots = paused_until = None
    if lesson:
        left = lesson.paused_until - now
        slots = max(1, lesson.slots)
        paused_until = clock + (min(left, 0.0) if service.ignore_pause else left)
        if left > 0:
            log.warning(_pause_message(left, service.ignore_pause))
    return Throttle(
        service.limit,
        burst=service.burst,
        busy_until=[end - now + clock for end in _ends(past, service.limit, now)],
        slots=slots,
        paused_until=paused_until,
    )


def pause_left(ledger: Ledger, limits: Limits, service: PaidService) -> float:
    """Return for how many seconds nothing is sent because the service asked earlier runs to wait.

    Unlike `resumed_throttle`, any process may call this.
    """
    now = time.time()
    lesson, _ = (None, 0.0) if service.ignore_pause else _lesson(ledger, limits, service)
    return max(0.0, _by_this_clock(lesson, now).paused_until - now) if lesson else 0.0


def held_slots(ledger: Ledger, limits: Limits, service: PaidService) -> int:
    """Return how many slots the attempts of earlier runs still hold."""
    now = time.time()
    past = _past(ledger, limits, service, now)
    return sum(end > now for end in _ends(past, service.limit, now))


def _past(ledger: Ledger, limits: Limits, service: PaidService, now: float) -> list[PastAttempt]:
    """Return the attempts that may still hold slots, each once."""
    since = now - 2 * (service.limit or AUTHENTICATED).hold
    # The limits come last: of an attempt in both, they know best when it ended by the right clock.
    both = [*ledger.attempts_since(service.key_fingerprint, since), *limits.attempts()]
    once = {(one.number, one.sent_at): one for one in both}
    return [one for one in once.values() if max(one.settled_at or now, one.sent_at) >= since]


def _lesson(ledger: Ledger, limits: Limits, service: PaidService) -> tuple[Lesson | None, float]:
    """Return what the last refusal taught, and when that was by the clock of then."""
    here, everywhere = ledger.lesson(service.key_fingerprint), limits.lesson()
    if everywhere is None or (here and here.learned_at > everywhere[1]):
        return here, here.learned_at if here else 0.0
    return everywhere


def _by_this_clock(lesson: Lesson, now: float) -> Lesson:
    """A clock that was set back must not make a pause longer than it was."""
    if lesson.learned_at <= now:
        return lesson
    return Lesson(lesson.slots, now + lesson.paused_until - lesson.learned_at, now)


def _ends(past: list[PastAttempt], limit: Rate | None, now: float) -> list[float]:
    """Return until when attempts hold their slots, seconds since 1970."""
    if limit is None:
        return []
    return [
        limit.lost_until(min(one.settled_at or now, now))
        if one.state in ("sent", "unconfirmed")
        else limit.answered_until(min(one.settled_at or now, now))
        for one in past
    ]


def _warn_of_future(past: list[PastAttempt], lesson: Lesson | None, now: float) -> None:
    times = [one.settled_at for one in past if one.settled_at is not None]
    ahead = max([*times, lesson.learned_at if lesson else now, now]) - now
    if ahead > 1:
        log.warning(
            f"The ledger has attempts that ended up to {duration(ahead)} in the future: the clock "
            "was wrong then, or is wrong now. They count as if they had just ended."
        )


def _pause_message(left: float, ignored: bool) -> str:
    if ignored:
        return f"The service asked to wait {duration(left)} more; --ignore-pause sends at once."
    return f"The service asked to wait: nothing is sent for {duration(left)}."
