"""What a purchase will cost, and how long it will take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from pipeline.money import ZERO, plain, times, total
from pipeline.paid.limits import Period
from pipeline.quoting import how_many
from pipeline.rate import Rate, duration

__all__ = ["Estimate", "Limited"]

Limited: TypeAlias = Period | Literal["job", "files"]
"""What a cost limit is for: ``--max-cost`` is for a job, or for all files of a run together."""

WORDS: Mapping[Limited, str] = {
    "day": "left today (UTC)",
    "month": "left this month (UTC)",
    "job": "left for this job",
    "files": "left for all files",
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a purchase will take, before any money is spent.

    Attributes:
        distinct: the distinct calls of the table.
        to_buy: the calls that the ledger cannot answer yet.
        low_usd: their cost at the lowest price so far, or else the typical one; 0 without a key.
        high_usd: their cost at the highest price so far, or the typical one if that is higher. A
            cost limit of this much is enough, unless prices rise or answers are lost.
        seconds: how long they take at the limit, including the pause.
        held: calls that are not bought again because their answers were lost, or errors were paid.
        pause: for how many seconds nothing is sent at first, because the service asked to wait.
        left: what the cost limits leave, US dollars: those of the day and the month to all jobs
            with the key, that of the job to this one, or to those of all files.
        allowed: the rate limit in words; "" if there is none to speak of.
    """

    distinct: int
    to_buy: int
    low_usd: Decimal
    high_usd: Decimal
    seconds: float
    held: int = 0
    pause: float = 0.0
    left: Mapping[Limited, Decimal] = field(default_factory=dict)
    allowed: str = ""

    @property
    def owned(self) -> int:
        """The calls that the ledger answers."""
        return self.distinct - self.to_buy - self.held

    @property
    def calls(self) -> str:
        """The calls, what they cost and how long they take, in words."""
        if not self.distinct:
            return "nothing to buy: 0 USD"
        held = f"{self.held:,} held, lost or paid without an answer, " if self.held else ""
        known = f"{how_many(self.distinct, 'distinct call')}, {self.owned:,} owned, {held}"
        return f"{known}{self.to_buy:,} to buy: {self.takes}"

    @property
    def takes(self) -> str:
        """What the calls cost and how long they take, in words."""
        low, high = plain(self.low_usd), plain(self.high_usd)
        parts = [f"{high} USD" if low == high else f"{low} to {high} USD"]
        if self.seconds >= 1:  # a limit that is not reached takes no time
            parts.append(duration(self.seconds))
        if self.pause:
            parts.append(f"including a pause of {duration(self.pause)} that the service asked for")
        return ", ".join(parts)

    @property
    def fits(self) -> bool:
        """Whether the cost limits leave the higher figure, so that a run would not stop there."""
        return self.high_usd <= self._tightest

    @property
    def _tightest(self) -> Decimal:
        return min(self.left.values(), default=self.high_usd)

    @property
    def limits(self) -> str:
        """What the cost limits leave, and whether a run would stop there, in words; or ""."""
        tightest = self._tightest
        parts = [
            f"{plain(usd)} USD {WORDS[limited]}"
            + (f", {self._enough_for(usd)}" if usd == tightest < self.high_usd else "")
            for limited, usd in self.left.items()
            if limited != "job" or usd < self.high_usd
        ]
        return "; ".join(parts)

    def _enough_for(self, usd: Decimal) -> str:
        """Say how many calls an amount buys. Each is reserved at the highest price."""
        # Fractions, because quotients of amounts are not exact.
        all_calls, low, high = (
            Fraction(each) for each in (times(usd, self.to_buy), self.low_usd, self.high_usd)
        )
        least = int(all_calls // high)
        if not least:
            return "not enough for one call: the run would stop at once"
        most = 1 + int((all_calls - high) // low) if low else self.to_buy
        if most >= self.to_buy:
            return f"enough for {least:,} calls, perhaps for all: the run may stop there"
        calls = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return f"enough for {calls} of these calls: the run would stop there"

    def __str__(self) -> str:
        allowed = f" ({self.allowed})" if self.allowed else ""
        return "; ".join(filter(None, (f"{self.calls}{allowed}", self.limits)))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types; money as text."""
        return {
            "distinct_calls": self.distinct,
            "calls_to_buy": self.to_buy,
            "calls_held": self.held,
            "low_usd": plain(self.low_usd),
            "high_usd": plain(self.high_usd),
            "seconds": round(self.seconds, 1),
            "pause_seconds": round(self.pause, 1),
            "left_today_usd": self._left("day"),
            "left_this_month_usd": self._left("month"),
            "left_of_max_cost_usd": self._left("job", "files"),
            "fits_limits": self.fits,
        }

    def _left(self, *limited: Limited) -> str | None:
        return next((plain(self.left[each]) for each in limited if each in self.left), None)

    def then(self, later: Estimate) -> Estimate:
        """Return the estimate of this purchase and a later one, under the same limits."""
        return Estimate(
            self.distinct + later.distinct,
            self.to_buy + later.to_buy,
            total([self.low_usd, later.low_usd]),
            total([self.high_usd, later.high_usd]),
            self.seconds + later.seconds - min(self.pause, later.pause),
            self.held + later.held,
            max(self.pause, later.pause),
            later.left,
            later.allowed,
        )

    def at_rate(self, limit: Rate | None) -> Estimate:
        """Return the estimate of several purchases, with the time that all calls together take.

        One by one, each of them may fit into the window of the rate limit.
        """
        if limit is None or self.to_buy <= limit.slots:
            return self
        seconds = self.pause + self.to_buy / limit.slots * limit.hold
        return replace(self, seconds=max(self.seconds, seconds))

    @classmethod
    def free(cls) -> Estimate:
        """Return the estimate of a job that buys nothing."""
        return cls(0, 0, ZERO, ZERO, 0.0)
