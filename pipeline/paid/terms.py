"""How a job buys, and what that will take."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from pathlib import Path
from typing import Any, Literal

from pipeline.money import ZERO, plain
from pipeline.paid.budget import MAX_PRICE
from pipeline.paid.client.urls import BaseUrl
from pipeline.paid.ledger import Counting
from pipeline.paid.progress import duration
from pipeline.rate import AUTHENTICATED, DEMO, Rate

__all__ = ["Estimate", "PurchaseSettings", "most_attempts"]


@dataclass(frozen=True, slots=True)
class PurchaseSettings:
    """How a job buys.

    Attributes:
        base_url: the service.
        api_key: the account's key; None sends demo requests.
        ledger: the ledger's file.
        rate: the limit; "account" is 100 a minute with a key and 10 an hour without.
        workers: how many attempts may be under way at once.
        max_cost: the most that the job may cost, US dollars.
        max_price: the highest price of one call at which the run goes on, US dollars.
        max_duration: seconds after which the run parks.
        timeout: seconds that one attempt may take.
        burst: send as soon as the limit allows instead of evenly.
        wait: wait for another buyer with this key, for the demo limit, and for pauses of any
            length that the service asks for.
        ignore_pause: send at once although the service asked an earlier run to wait.
        retry_failed: buy calls again that failed for good.
        max_age: how old an answer may be when the job opens, seconds; older ones are bought again.
        on_unconfirmed: whether a call whose answer was lost is sent once more.
    """

    base_url: BaseUrl
    api_key: str | None = field(repr=False)
    ledger: Path
    rate: Rate | Literal["account"] | None = "account"
    workers: int = 16
    max_cost: Decimal | None = None
    max_price: Decimal = MAX_PRICE
    max_duration: float | None = None
    timeout: float = 60.0
    burst: bool = False
    wait: bool = False
    ignore_pause: bool = False
    retry_failed: bool = False
    max_age: float | None = None
    on_unconfirmed: Literal["retry", "hold"] = "retry"

    @property
    def limit(self) -> Rate | None:
        """The limit that is kept."""
        if self.rate == "account":
            return DEMO if self.api_key is None else AUTHENTICATED
        return self.rate

    @property
    def most_lost(self) -> int:
        """After so many lost answers in one job a call is not bought again."""
        return 2 if self.on_unconfirmed == "retry" else 1

    @property
    def counting(self) -> Counting:
        """Which responses in the ledger answer the job's calls."""
        return Counting(self.max_age, self.retry_failed)


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


def most_attempts(how: PurchaseSettings, to_buy: int) -> int:
    """Return how many calls a run can buy at most: all, or what its time and limit allow."""
    if how.max_duration is None or how.limit is None:
        return to_buy
    windows = ceil(how.max_duration / how.limit.window) + 1
    return min(to_buy, windows * how.limit.slots)
