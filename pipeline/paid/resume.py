"""Creates the throttle and the budget of a run, with what earlier runs used of the limits."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from decimal import Decimal

from pipeline.money import ZERO, difference
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.ledger.calls import PastAttempt
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.limits import Allowance, Budget
from pipeline.paid.service import PaidService
from pipeline.purchases import Limited
from pipeline.rate import AUTHENTICATED, Rate, duration
from pipeline.wording import Words, option

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """What earlier runs used of a key's limits. Every method may raise a `LedgerError`.

    Attributes:
        ledger: what runs with this ledger sent, spent and learned.
        service: the limits, and how to keep them.
    """

    ledger: Ledger
    service: PaidService

    def cost_left(self, job: Job) -> dict[Limited, Decimal]:
        """Return what the cost limits leave, US dollars: of the day, the month and the job."""
        left: dict[Limited, Decimal] = {
            allowance.period: allowance.left for allowance in self._allowances()
        }
        if self.service.max_cost is not None:
            spent = job.money()
            rest = difference(self.service.max_cost, spent.confirmed, spent.at_risk)
            left["job"] = max(ZERO, rest)
        return left

    def budget(self, job: Job) -> Budget:
        """Create the budget of a run; only the ledger's one buyer may call this.

        Args:
            job: the job, with what it has cost.
        """
        service = self.service
        money, prices = job.money(), self.ledger.prices(service.max_price)
        return Budget(
            money.confirmed,
            service.max_cost,
            prices[1] if prices else None,
            money.at_risk,
            self._allowances(),
            service.typical_prices[1],
        )

    def throttle(self) -> Throttle:
        """Create the throttle of a run in the running event loop; only the key's one buyer may.

        No attempt can have ended in the future, and no pause can become longer than it was. So if
        the clock ran ahead or was set back, times in the future are replaced with the present.
        """
        service = self.service
        now, clock = self.ledger.now(), asyncio.get_running_loop().time()
        attempts = self._recent_attempts(now)
        refusal = self.ledger.last_refusal(service.key_fingerprint)
        pause = refusal.pause_left(now) if refusal else 0.0
        if pause > 0 and service.ignore_pause:
            at_once = f"{option('ignore_pause', True)} sends at once."
            log.warning(Words(f"The service asked to wait {duration(pause)} more; {at_once}"))
            pause = 0.0
        elif pause > 0:
            log.warning(f"The service asked to wait: nothing is sent for {duration(pause)}.")
        return Throttle(
            service.limit,
            burst=service.burst,
            busy_until=[end - now + clock for end in _slot_ends(attempts, service.limit, now)],
            slots=max(1, refusal.slots) if refusal else None,
            paused_until=clock + pause if refusal else None,
        )

    def pause_left(self) -> float:
        """Return how many seconds remain of a pause that the service asked earlier runs for."""
        refusal = self.ledger.last_refusal(self.service.key_fingerprint)
        if refusal is None or self.service.ignore_pause:
            return 0.0
        return max(0.0, refusal.pause_left(self.ledger.now()))

    def seconds_needed(self, calls: int) -> float:
        """Return how many seconds some calls take at the limit, with the slots that are taken."""
        limit = self.service.limit
        if limit is None:
            return 0.0
        now = self.ledger.now()
        held = sum(end > now for end in _slot_ends(self._recent_attempts(now), limit, now))
        free = max(0, limit.slots - held)
        at_once = free if self.service.burst or calls <= free else 0
        return max(0, calls - at_once) / limit.slots * limit.hold

    def _allowances(self) -> list[Allowance]:
        """Return the cost limits of the current day and month, with what was spent of them."""
        allowances = []
        for period, limit in self.service.period_limits.items():
            allowance = Allowance(period, limit, self.ledger.now)
            began_at = allowance.began_at.timestamp()
            spent = self.ledger.spent_since(self.service.key_fingerprint, began_at)
            allowance.charge(spent.confirmed, spent.at_risk)
            allowances.append(allowance)
        return allowances

    def _recent_attempts(self, now: float) -> list[PastAttempt]:
        """Return the attempts that may still hold slots."""
        since = now - 2 * (self.service.limit or AUTHENTICATED).hold
        return self.ledger.attempts_since(self.service.key_fingerprint, since)


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
