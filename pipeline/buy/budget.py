"""Keeps a job under its cost limit, though nobody knows a price before it is charged."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from pipeline.money import ZERO, total

__all__ = ["TYPICAL_HIGH", "TYPICAL_LOW", "Budget"]

TYPICAL_LOW, TYPICAL_HIGH = Decimal("0.00007"), Decimal("0.00015")
"""The interface's typical price of a call, US dollars."""


class Budget:
    """What may still be spent.

    Every attempt reserves twice the highest price seen before it is sent, and keeps the
    reservation if its price stays unknown. One that costs more than it reserved lets nobody
    through until everything under way has settled.

    Attributes:
        spent: what the job has paid, and may have paid, so far.
        highest: the highest price seen, or else typical.

    Args:
        spent: what the job has paid, and may have paid, so far.
        max_cost: the most that the job may cost; None for no limit.
        highest: the highest price seen at the endpoint so far, if any.
    """

    def __init__(self, spent: Decimal, max_cost: Decimal | None, highest: Decimal | None) -> None:
        self.spent = spent
        self._max_cost = max_cost
        self.highest = max(highest or ZERO, TYPICAL_HIGH)
        self._reserved = ZERO
        self._in_flight = 0
        self._overrun = False
        self._changed = asyncio.Event()

    @property
    def exhausted(self) -> bool:
        """Whether there is no room and nothing under way can make some."""
        return not self._in_flight and not self._fits(2 * self.highest)

    async def reserve(self) -> Decimal | None:
        """Take a reservation; None when there is no room and nothing under way can make some."""
        while True:
            amount = 2 * self.highest
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

    def settle(self, reserved: Decimal, cost: Decimal | None) -> None:
        """Give a reservation back for what the attempt cost; None keeps it: nobody knows."""
        self._in_flight -= 1
        self._reserved = total([self._reserved, -reserved])
        self.spent = total([self.spent, reserved if cost is None else cost])
        if cost is not None:
            self.highest = max(self.highest, cost)
            self._overrun = self._overrun or cost > reserved
        self._changed.set()

    def _fits(self, amount: Decimal) -> bool:
        if self._max_cost is None:
            return True
        return total([self.spent, self._reserved, amount]) <= self._max_cost
