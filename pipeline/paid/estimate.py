"""What a purchase will cost, and how long it will take."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pipeline.money import ZERO, plain
from pipeline.paid.progress import duration

__all__ = ["Estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a purchase will take, before any money is spent.

    Attributes:
        distinct: distinct calls of the table.
        to_buy: those of them that the ledger cannot answer yet.
        low_usd: what they cost at the lowest price seen (or else typical).
        high_usd: what they cost at the highest (or typical, if that is higher); with a cost limit
            of so much the purchase completes, unless prices rise or answers are lost.
        seconds: how long they take at the limit, with the pause before them.
        held: calls that the ledger cannot answer, but whose answers were lost: they are not
            bought again.
        pause: for how long nothing is sent at first, because the service asked for it, seconds.
    """

    distinct: int
    to_buy: int
    low_usd: Decimal
    high_usd: Decimal
    seconds: float
    held: int = 0
    pause: float = 0.0

    @property
    def owned(self) -> int:
        """The calls that the ledger answers."""
        return self.distinct - self.to_buy - self.held

    def __str__(self) -> str:
        held = f"{self.held:,} held because their answers were lost, " if self.held else ""
        calls = f"{self.distinct:,} distinct calls, {self.owned:,} owned, {held}"
        cost = f"{plain(self.low_usd)} to {plain(self.high_usd)} USD"
        said = [f"{calls}{self.to_buy:,} to buy: {cost}"]
        if self.seconds >= 1:  # a limit that is not reached takes no time
            said.append(duration(self.seconds))
        if self.pause:
            said.append(f"{duration(self.pause)} of them a pause that the service asked for")
        return ", ".join(said)

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
        }

    @classmethod
    def free(cls) -> Estimate:
        """Return the estimate of a job that buys nothing."""
        return cls(0, 0, ZERO, ZERO, 0.0)
