"""Creates the throttle and the budget of a run, with what earlier runs used of the limits."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from decimal import Decimal

from pipeline.money import ZERO, difference
from pipeline.paid.allowance import Allowance
from pipeline.paid.budget import Budget
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.estimate import Limited
from pipeline.paid.ledger import Job, Ledger, Lesson, Limits, PastAttempt
from pipeline.paid.service import PaidService
from pipeline.rate import AUTHENTICATED, Rate, duration

__all__ = [
    "allowances",
    "cost_left",
    "known_limits",
    "pause_left",
    "resumed_budget",
    "resumed_throttle",
    "seconds_needed",
]

log = logging.getLogger(__name__)


def allowances(ledger: Ledger, service: PaidService) -> list[Allowance]:
    """Return the cost limits of the current day and month, with what was spent of them."""
    found = []
    for period, limit in service.period_limits.items():
        allowance = Allowance(period, limit, ledger.now)
        spent = ledger.spent_since(service.key_fingerprint, allowance.began_at.timestamp())
        allowance.charge(spent.confirmed, spent.at_risk)
        found.append(allowance)
    return found


def cost_left(ledger: Ledger, job: Job, service: PaidService) -> dict[Limited, Decimal]:
    """Return what the cost limits leave, US dollars: of the day, the month and the job."""
    left: dict[Limited, Decimal] = {each.period: each.left for each in allowances(ledger, service)}
    if service.max_cost is not None:
        spent = job.money()
        rest = difference(service.max_cost, spent.confirmed, spent.at_risk)
        left["job"] = max(ZERO, rest)
    return left


def resumed_budget(ledger: Ledger, job: Job, service: PaidService) -> Budget:
    """Create the budget of a run; only the ledger's one buyer may call this.

    Args:
        ledger: what was spent with the key, and the prices so far.
        job: the job, with what it has cost.
        service: the cost limits.
    """
    money, prices = job.money(), ledger.prices(service.max_price)
    return Budget(
        money.confirmed,
        service.max_cost,
        prices.high if prices else None,
        money.at_risk,
        allowances(ledger, service),
    )


def known_limits(service: PaidService) -> Limits:
    """Open the file where this user's runs on this machine share a key's known limits."""
    keep = 2 * (service.limit or AUTHENTICATED).hold
    return Limits(service.base_url, service.key_fingerprint, keep)


def resumed_throttle(ledger: Ledger, limits: Limits, service: PaidService) -> Throttle:
    """Create the throttle of a run in the running event loop.

    No attempt can have ended in the future, and no pause can become longer than it was. So if the
    clock ran ahead or was set back, times in the future are replaced with the present, once.

    Args:
        ledger: what earlier runs with this ledger sent and learned.
        limits: the same from runs with other ledgers; only the key's one buyer may call this.
        service: the limit, and how to keep it.
    """
    now, clock = time.time(), asyncio.get_running_loop().time()
    attempts = _recent_attempts(ledger, limits, service, now)
    lesson = _last_lesson(ledger, limits, service)
    _warn_of_future(attempts, lesson, now)
    attempts = [replace(attempt, settled_at=attempt.ended_at(now)) for attempt in attempts]
    lesson = lesson and lesson.by_clock(now)
    limits.replace(attempts, lesson)
    pause = lesson.paused_until - now if lesson else 0.0
    if pause > 0:
        log.warning(_pause_message(pause, service.ignore_pause))
    if service.ignore_pause:
        pause = min(pause, 0.0)
    return Throttle(
        service.limit,
        burst=service.burst,
        busy_until=[end - now + clock for end in _slot_ends(attempts, service.limit, now)],
        slots=max(1, lesson.slots) if lesson else None,
        paused_until=clock + pause if lesson else None,
    )


def pause_left(ledger: Ledger, limits: Limits, service: PaidService) -> float:
    """Return how many seconds remain of a pause that the service asked earlier runs for.

    Unlike `resumed_throttle`, any process may call this.
    """
    lesson = None if service.ignore_pause else _last_lesson(ledger, limits, service)
    now = time.time()
    return max(0.0, lesson.by_clock(now).paused_until - now) if lesson else 0.0


def seconds_needed(ledger: Ledger, limits: Limits, service: PaidService, calls: int) -> float:
    """Return how long some calls take at the limit, after what earlier runs used of it."""
    limit = service.limit
    if limit is None:
        return 0.0
    now = time.time()
    attempts = _recent_attempts(ledger, limits, service, now)
    held = sum(end > now for end in _slot_ends(attempts, limit, now))
    free = max(0, limit.slots - held)
    at_once = free if service.burst or calls <= free else 0
    return max(0, calls - at_once) / limit.slots * limit.hold


def _recent_attempts(
    ledger: Ledger, limits: Limits, service: PaidService, now: float
) -> list[PastAttempt]:
    """Return the attempts that may still hold slots, without duplicates."""
    since = now - 2 * (service.limit or AUTHENTICATED).hold
    # The limits come last: for an attempt in both, their end time is the more reliable.
    found = [*ledger.attempts_since(service.key_fingerprint, since), *limits.attempts()]
    distinct = {(attempt.number, attempt.sent_at): attempt for attempt in found}
    return [
        attempt
        for attempt in distinct.values()
        if attempt.settled_at is None or max(attempt.settled_at, attempt.sent_at) >= since
    ]


def _last_lesson(ledger: Ledger, limits: Limits, service: PaidService) -> Lesson | None:
    """Return the lesson of the last refusal, whichever run met it."""
    # The limits come first: of the same lesson, they have the times that were corrected.
    lessons = filter(None, [limits.lesson(), ledger.lesson(service.key_fingerprint)])
    return max(lessons, key=lambda lesson: lesson.first_learned_at, default=None)


def _slot_ends(attempts: list[PastAttempt], limit: Rate | None, now: float) -> list[float]:
    """Return when attempts release their slots, in seconds since 1970."""
    if limit is None:
        return []
    return [
        limit.lost_until(attempt.ended_at(now))
        if attempt.state in ("sent", "unconfirmed")
        else limit.answered_until(attempt.ended_at(now))
        for attempt in attempts
    ]


def _warn_of_future(attempts: list[PastAttempt], lesson: Lesson | None, now: float) -> None:
    times = [attempt.settled_at for attempt in attempts if attempt.settled_at is not None]
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
