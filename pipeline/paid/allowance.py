"""Limits what all jobs with a key may spend in a UTC day or calendar month."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal, TypeAlias

from pipeline.money import ZERO, difference, total

__all__ = ["Allowance", "Period"]

Period: TypeAlias = Literal["day", "month"]

OPTIONS: Mapping[Period, str] = {"day": "--max-cost-per-day", "month": "--max-cost-per-month"}


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
    """

    def __init__(
        self, period: Period, limit: Decimal, now: Callable[[], float] = time.time
    ) -> None:
        self.period = period
        self.limit = limit
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
        return max(ZERO, difference(self.confirmed, self.limit))

    @property
    def left(self) -> Decimal:
        """What may still be spent in the current period, US dollars."""
        self._renew()
        return max(ZERO, difference(self.limit, self.confirmed, self.at_risk))

    def fits(self, amount: Decimal) -> bool:
        """Return whether an amount may be spent in the current period."""
        return amount <= self.left

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
        spent = [each for began, each in self._spent.items() if began >= self.began_at]
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
