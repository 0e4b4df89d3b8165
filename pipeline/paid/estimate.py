"""What a purchase will cost, and how long it will take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pipeline.money import ZERO, plain
from pipeline.paid.allowance import Period
from pipeline.rate import duration

__all__ = ["Estimate"]

WORDS: Mapping[Period, str] = {"day": "today", "month": "this month"}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a purchase will take, before any money is spent.

    Attributes:
        distinct: the distinct calls of the table.
        to_buy: the calls that the ledger cannot answer yet.
        low_usd: their cost at the lowest price so far, or else the typical one.
        high_usd: their cost at the highest price so far, or the typical one if that is higher. A
            cost limit of this much is enough, unless prices rise or answers are lost.
        seconds: how long they take at the limit, including the pause.
        held: calls that are not bought again because their answers were lost.
        pause: for how many seconds nothing is sent at first, because the service asked to wait.
        left: what the limits of the day and the month leave to all jobs with the key, US dollars.
    """

    distinct: int
    to_buy: int
    low_usd: Decimal
    high_usd: Decimal
    seconds: float
    held: int = 0
    pause: float = 0.0
    left: Mapping[Period, Decimal] = field(default_factory=dict)

    @property
    def owned(self) -> int:
        """The calls that the ledger answers."""
        return self.distinct - self.to_buy - self.held

    def __str__(self) -> str:
        held = f"{self.held:,} held because their answers were lost, " if self.held else ""
        calls = f"{self.distinct:,} distinct calls, {self.owned:,} owned, {held}"
        cost = f"{plain(self.low_usd)} to {plain(self.high_usd)} USD"
        parts = [f"{calls}{self.to_buy:,} to buy: {cost}"]
        if self.seconds >= 1:  # a limit that is not reached takes no time
            parts.append(duration(self.seconds))
        if self.pause:
            parts.append(f"including a pause of {duration(self.pause)} that the service asked for")
        parts += [
            f"{plain(usd)} USD left {WORDS[period]} (UTC)" for period, usd in self.left.items()
        ]
        return ", ".join(parts)

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
        }

    def _left(self, period: Period) -> str | None:
        return plain(self.left[period]) if period in self.left else None

    @classmethod
    def free(cls) -> Estimate:
        """Return the estimate of a job that buys nothing."""
        return cls(0, 0, ZERO, ZERO, 0.0)
