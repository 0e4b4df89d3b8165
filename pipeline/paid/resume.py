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
    """Return how many seconds remain of a pause that the service asked earlier runs for.

    Unlike `resumed_throttle`, any process may call this.
    """
    now = time.time()
    lesson, _ = (None, 0.0) if service.ignore_pause else _lesson(ledger, limits, service)
    return max(0.0, _by_this_clock(lesson, now).paused_until - now) if lesson else 0.0


def seconds_needed(ledger: Ledger, limits: Limits, service: PaidService, calls: int) -> float:
    """Return how long some calls take at the limit, after what earlier runs used of it."""
    limit = service.limit
    if limit is None:
        return 0.0
    now = time.time()
    held = sum(end > now for end in _ends(_past(ledger, limits, service, now), limit, now))
    free = max(0, limit.slots - held)
    at_once = free if service.burst or calls <= free else 0
    return max(0, calls - at_once) / limit.slots * limit.hold


def _past(ledger: Ledger, limits: Limits, service: PaidService, now: float) -> list[PastAttempt]:
    """Return the attempts that may still hold slots, without duplicates."""
    since = now - 2 * (service.limit or AUTHENTICATED).hold
    # The limits come last: for an attempt in both, their end time is the more reliable.
    both = [*ledger.attempts_since(service.key_fingerprint, since), *limits.attempts()]
    once = {(one.number, one.sent_at): one for one in both}
    return [one for one in once.values() if max(one.settled_at or now, one.sent_at) >= since]


def _lesson(ledger: Ledger, limits: Limits, service: PaidService) -> tuple[Lesson | None, float]:
    """Return the lesson of the last refusal, and its time by the clock at that moment."""
    here, everywhere = ledger.lesson(service.key_fingerprint), limits.lesson()
    if everywhere is None or (here and here.learned_at > everywhere[1]):
        return here, here.learned_at if here else 0.0
    return everywhere


def _by_this_clock(lesson: Lesson, now: float) -> Lesson:
    """Adjust a lesson, so that a clock that was set back does not lengthen its pause."""
    if lesson.learned_at <= now:
        return lesson
    return Lesson(lesson.slots, now + lesson.paused_until - lesson.learned_at, now)


def _ends(past: list[PastAttempt], limit: Rate | None, now: float) -> list[float]:
    """Return when attempts release their slots, in seconds since 1970."""
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
