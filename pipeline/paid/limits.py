"""Keeps a job under its cost limits, although prices are known only after the charge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pipeline.money import ZERO, difference, total
from pipeline.purchases import Period
from pipeline.wording import option

OPTIONS: Mapping[Period, str] = {
    "day": option("max_cost_per_day"),
    "month": option("max_cost_per_month"),
}


class Allowance:
    """A cost limit for a UTC day or calendar month. When the next one begins, it counts from zero.

    An attempt that is answered after midnight counts for both days: the ledger knows when it was
    sent, the service when it was billed, and neither day may exceed the limit. If the clock is set
    back, it was wrong before or is wrong now: what is spent counts for either day.

    Args:
        period: the length of the period.
        limit: the most that may be spent in one, US dollars.
        now: returns the time, seconds since 1970.

    Attributes:
        period, limit: as above.
        confirmed: what the attempts of the current period have cost so far, US dollars.
        at_risk: what they may have cost in addition, US dollars.
        began_at, ends_at: when the current period began, and when the next one begins.
        ahead: what earlier runs spent with a later date, as the clock was ahead, US dollars.
    """

    def __init__(self, period: Period, limit: Decimal, now: Callable[[], float]) -> None:
        self.period = period
        self.limit = limit
        self.ahead = ZERO
        self._now = now
        self._spent: dict[datetime, tuple[Decimal, Decimal]] = {}
        self._begin()

    @property
    def option(self) -> str:
        """The option that sets the limit."""
        return OPTIONS[self.period]

    @property
    def overshoot(self) -> Decimal:
        """By how much the confirmed costs exceed the limit, US dollars."""
        return excess(self.confirmed, self.limit)

    @property
    def left(self) -> Decimal:
        """What may still be spent in the current period, US dollars."""
        self._renew()
        return max(ZERO, difference(self.limit, self.confirmed, self.at_risk))

    def charge(self, confirmed: Decimal = ZERO, at_risk: Decimal = ZERO) -> None:
        """Add what attempts have cost, and may have cost, to the current period."""
        self._renew()
        latest = max([self.began_at, *self._spent])
        before = self._spent.get(latest, (ZERO, ZERO))
        self._spent[latest] = total([before[0], confirmed]), total([before[1], at_risk])
        self._add_up()

    def _renew(self) -> None:
        """Begin another period when it is time."""
        if not self.began_at.timestamp() <= self._now() < self.ends_at.timestamp():
            self._begin()

    def _add_up(self) -> None:
        """Add up what was spent in the current period, and while the clock was ahead of it."""
        spent = [amounts for began, amounts in self._spent.items() if began >= self.began_at]
        self.confirmed = total(confirmed for confirmed, _ in spent)
        self.at_risk = total(at_risk for _, at_risk in spent)

    def _begin(self) -> None:
        today = datetime.fromtimestamp(self._now(), UTC).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        if self.period == "day":
            self.began_at, self.ends_at = today, today + timedelta(days=1)
        else:
            self.began_at = today.replace(day=1)
            self.ends_at = (self.began_at + timedelta(days=31)).replace(day=1)
        self._add_up()


TYPICAL_LOW, TYPICAL_HIGH = Decimal("0.00007"), Decimal("0.00015")
"""The interface's typical price of a call, US dollars."""

MAX_PRICE = Decimal("0.01")
"""A higher price of one call is taken for a mistake, US dollars."""


def excess(confirmed: Decimal, max_cost: Decimal | None) -> Decimal:
    """Return by how much the confirmed costs exceed a cost limit, in US dollars."""
    return ZERO if max_cost is None else max(ZERO, difference(confirmed, max_cost))


class Budget:
    """What may still be spent.

    Before it is sent, every attempt reserves the highest price so far, or the typical one if that
    is higher. It keeps the reservation if its price remains unknown. After an attempt costs more
    than it reserved, no other gets a reservation until all attempts under way have ended.

    Args:
        confirmed: what the job has paid so far.
        max_cost: the maximum cost of the job; None for no limit.
        highest: the highest price of the service so far, if any.
        at_risk: what the job may have paid in addition.
        allowances: the limits for all jobs of the key, with what these have spent so far.
        typical: what the service's dearest calls usually cost.

    Attributes:
        confirmed: as above.
        at_risk: as above.
        allowances: as above.
        highest: what an attempt reserves.
    """

    def __init__(
        self,
        confirmed: Decimal,
        max_cost: Decimal | None,
        highest: Decimal | None,
        at_risk: Decimal = ZERO,
        allowances: Sequence[Allowance] = (),
        typical: Decimal = TYPICAL_HIGH,
    ) -> None:
        self.confirmed = confirmed
        self.at_risk = at_risk
        self.allowances = allowances
        self._max_cost = max_cost
        self.highest = max(highest or ZERO, typical)
        self._reserved = ZERO
        self._in_flight = 0
        self._overrun = False
        from asyncio import Event  # a plan, which imports this, needs no event loop

        self._changed = Event()

    @property
    def spent(self) -> Decimal:
        """What the job has paid, and may have paid, so far."""
        return total([self.confirmed, self.at_risk])

    @property
    def overshoot(self) -> Decimal:
        """By how much the job's confirmed costs exceed its limit."""
        return excess(self.confirmed, self._max_cost)

    @property
    def exhausted(self) -> bool:
        """Whether nothing more fits, and no attempt under way could free any budget."""
        return not self._in_flight and not self._fits(self.highest)

    @property
    def reached(self) -> Allowance | None:
        """The day's or month's limit that stops the job; None if it is the job's own limit."""
        full = self._full(self.highest) if self._fits_job(self.highest) else []
        return max(full, key=lambda allowance: allowance.ends_at, default=None)

    async def reserve(self) -> Decimal | None:
        """Wait for a reservation and return it; None if the budget is exhausted."""
        while True:
            amount = self.highest
            if not (self._overrun and self._in_flight):
                self._overrun = False
                if self._fits(amount):
                    self._in_flight += 1
                    self._reserved = total([self._reserved, amount])
                    return amount
                if not self._in_flight:
                    return None
            self._changed.clear()
            await self._changed.wait()

    def charge(self, reserved: Decimal, cost: Decimal | None) -> None:
        """Replace a reservation with the attempt's cost; an unknown cost (None) keeps it."""
        confirmed, at_risk = (ZERO, reserved) if cost is None else (cost, ZERO)
        self._in_flight -= 1
        self._reserved = difference(self._reserved, reserved)
        self.confirmed = total([self.confirmed, confirmed])
        self.at_risk = total([self.at_risk, at_risk])
        for allowance in self.allowances:
            allowance.charge(confirmed, at_risk)
        self.highest = max(self.highest, confirmed)
        self._overrun = self._overrun or confirmed > reserved
        self._changed.set()

    def _fits(self, amount: Decimal) -> bool:
        return self._fits_job(amount) and not self._full(amount)

    def _fits_job(self, amount: Decimal) -> bool:
        if self._max_cost is None:
            return True
        return total([self.spent, self._reserved, amount]) <= self._max_cost

    def _full(self, amount: Decimal) -> list[Allowance]:
        return [
            allowance
            for allowance in self.allowances
            if total([self._reserved, amount]) > allowance.left
        ]
