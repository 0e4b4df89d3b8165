"""Takes a throttle's slots for a pool, and reports how attempts ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pipeline.paid.client.throttle import Slot, Throttle
from pipeline.paid.ledger import Restraint
from pipeline.paid.policy import Judgement

__all__ = ["Turns"]


class Turns:
    """The slots of a pool.

    Args:
        throttle: keeps the rate limit.

    Attributes:
        unreached: how many of the latest attempts in a row were not sent.
    """

    def __init__(self, throttle: Throttle) -> None:
        self.unreached = 0
        self._throttle = throttle
        self._waits: set[asyncio.Timeout] = set()
        self._stopped = False

    def stop(self) -> None:
        """End all waits, now and later: a slot may be hours away."""
        self._stopped = True
        for wait in self._waits:
            wait.reschedule(0)

    async def slot(self, to_spread: Callable[[], int]) -> Slot | None:
        """Wait for a slot; None if the run stops before there is one.

        Args:
            to_spread: how many calls to spread over time; see `Throttle.slot`.
        """
        if self._stopped:
            return None
        if slot := self._throttle.unlimited():
            return slot
        try:
            async with asyncio.timeout(None) as wait:
                self._waits.add(wait)
                try:
                    return await self._throttle.slot(to_spread)
                finally:
                    self._waits.discard(wait)
        except TimeoutError:
            return None

    def end(self, slot: Slot, judgement: Judgement, not_sent: bool) -> Restraint | None:
        """Report how an attempt ended; return what the next run must know about a refusal."""
        self.unreached = self.unreached + 1 if not_sent else 0
        if not_sent:
            slot.unsent()
        elif judgement.next == "limited":
            slot.refused(judgement.wait)
            return Restraint(self._throttle.slots, self._throttle.pause_left)
        elif judgement.next != "lost" or judgement.end.status is not None:
            slot.answered()  # else the end of the slot's block counts it as lost
        return None
