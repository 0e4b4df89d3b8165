"""Keeps a rate limit as the server counts it, whatever delays the network adds."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Literal

from pipeline.rate import AUTHENTICATED, Rate

LOWERED = 0.75
"""The fraction of the slots in use that remains after a refusal."""

RECOVERED = 0.02
"""The fraction of the rate's slots that returns after each window without a refusal."""

PORTION = 0.1
"""Seconds: attempts closer together are paced in groups, because timers are coarse."""

FIRST_PAUSE = 1.0
"""Seconds of the first pause if nothing says how long to wait; each further refusal doubles it."""

SMOOTHING = 1 / 16
"""The weight of the newest attempt in the average duration of an attempt."""

log = logging.getLogger(__name__)


class Throttle:
    """Limits attempts so that the server never sees more than the rate allows.

    An attempt takes one of the rate's slots before it is sent. It holds the slot until a full
    window after its response arrived; without a response, until two windows after it was given up.
    `docs/explanation/throttle.md` proves that this is enough, except for arrivals later than a
    window after that, and for other users of the key.

    Within these slots, aiolimiter spreads the attempts evenly, unless every remaining call has a
    free slot. It does not serve its waiters in order, so only one attempt at a time waits for it,
    and attempts take turns in the order of their requests.

    A refusal although the limit was kept means that somebody else uses the key. The throttle then
    gives up a quarter of the slots in use, once for all attempts under way. After each window
    without a refusal, it takes back a fiftieth of the rate's slots, at least one. It belongs to the
    event loop in which it was created, and uses that loop's clock.

    Args:
        rate: the limit; None for no limit. Pauses are kept in any case.
        burst: send as soon as a slot is free, without spreading: a short job ends sooner.
        busy_until: when each slot that the previous process took becomes free.
        slots: how many of the rate's slots the last refusal left in use; None: no refusal.
        paused_until: the end of that refusal's pause; None: no refusal.
    """

    def __init__(
        self,
        rate: Rate | None,
        *,
        burst: bool = False,
        busy_until: Sequence[float] = (),
        slots: int | None = None,
        paused_until: float | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._rate = rate
        self._burst = burst or rate is None
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._under_way: dict[Slot, None] = {}
        self._paced_until = 0.0
        self._busy_until = list(busy_until)
        heapify(self._busy_until)
        self._lowered_at = self._loop.time()
        self._quiet_since = self._lowered_at if paused_until is None else paused_until
        self._paused_until = max(self._lowered_at, self._quiet_since)
        self._next_pause = FIRST_PAUSE
        self._mean_time = 0.0
        self._most_in_flight = 1
        most = rate.slots if rate else sys.maxsize
        self._use(most if slots is None else min(most, slots))

    async def slot(self, remaining: Callable[[], int] | None = None) -> Slot:
        """Wait until an attempt may be sent, and return its slot.

        Use it as ``with await throttle.slot() as slot:``. A cancelled wait takes no slot.

        Args:
            remaining: returns how many calls are not under way at the attempt's turn; None: many.
        """
        async with self._turn:
            free = await self._clear()
            if not self._burst and (remaining is None or remaining() > free):
                await self._pacer.acquire()
                self._paced_until = self._loop.time() + self._gap
                await self._clear()
            return self._take()

    def pause(self, seconds: float) -> None:
        """Hold back all attempts for some seconds, including those already waiting."""
        self._paused_until = max(self._paused_until, self._loop.time() + seconds)

    @property
    def slots(self) -> int:
        """How many slots are in use: the rate's, or fewer after refusals."""
        self._recover()
        return self._slots

    @property
    def free(self) -> int:
        """How many attempts could be sent now, apart from pacing and pauses."""
        while self._busy_until and self._busy_until[0] <= self._loop.time():
            heappop(self._busy_until)
        return max(0, self.slots - self.under_way - len(self._busy_until))

    @property
    def under_way(self) -> int:
        """How many attempts have a slot and have not ended."""
        return len(self._under_way)

    @property
    def longest_under_way(self) -> float:
        """How many seconds ago the oldest attempt under way took its slot."""
        return next((self._loop.time() - slot.taken_at for slot in self._under_way), 0.0)

    @property
    def next_slot(self) -> float:
        """How many seconds the limit holds back the next attempt, apart from pauses."""
        until = self._paced_until if self.free else min(self._busy_until, default=0.0)
        return max(0.0, until - self._loop.time())

    @property
    def pause_left(self) -> float:
        """How many seconds remain of the pause after a refusal."""
        return max(0.0, self._paused_until - self._loop.time())

    def eta(self, calls: int) -> float:
        """Estimate how many seconds the attempts under way and some further calls will take."""
        if calls <= 0:
            return self._mean_time if self.under_way else 0.0
        by_workers = (calls + self.under_way) * self._mean_time / self._most_in_flight
        at_once = min(calls, self.free) if self._burst or calls <= self.free else 0
        last_sent = max(self.pause_left, self.next_slot) + (calls - at_once) * self._gap
        return max(by_workers, last_sent + self._mean_time)

    def _take(self) -> Slot:
        self._under_way[slot := Slot(self, self._loop.time())] = None
        self._most_in_flight = max(self._most_in_flight, len(self._under_way))
        return slot

    async def _clear(self) -> int:
        """Wait until a slot is free and any pause is over; return the number of free slots."""
        while True:
            self._changed.clear()
            free = self.free
            until: float | None = self._paused_until
            if self._loop.time() >= self._paused_until:
                if free:
                    return free
                until = self._busy_until[0] if self._busy_until else None
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._changed.wait()

    def _end(self, slot: Slot, how: Literal["answered", "unsent", "lost"]) -> None:
        """End an attempt, unless it has ended already."""
        if slot.ended:
            return
        slot.ended = True
        now = self._loop.time()
        del self._under_way[slot]
        if self._rate is not None and how == "answered":
            heappush(self._busy_until, self._rate.answered_until(now))
        elif self._rate is not None and how == "lost":
            heappush(self._busy_until, self._rate.lost_until(now))
        took = now - slot.taken_at
        self._mean_time += (took - self._mean_time) * (SMOOTHING if self._mean_time else 1.0)
        self._changed.set()

    def _learn(self, slot: Slot, retry_after: float | None) -> None:
        """Pause; use fewer slots, unless another refusal at this moment already did so."""
        first = slot.taken_at >= self._lowered_at
        self.pause(self._own_pause(first) if retry_after is None else retry_after)
        self._recover()
        if first:
            self._lowered_at = self._loop.time()
        if first and self._rate is not None:
            self._use(max(1, int(self._slots * LOWERED)))
            log.warning(
                f"The service refused an attempt although the limit of {self._rate} was kept. "
                "Is the limit lower, or does somebody else use the key? "
                f"{self._slots} of {self._rate.slots} slots remain in use."
            )
        self._quiet_since = self._paused_until

    def _own_pause(self, first: bool) -> float:
        """Return how many seconds to wait if the service does not specify it."""
        if self._rate is not None:
            return self._rate.window
        pause = self._next_pause
        if first:
            self._next_pause = min(2 * pause, AUTHENTICATED.window)
        return pause if first else 0.0

    def _recover(self) -> None:
        """Take back slots for the windows without a refusal since the last call."""
        if self._rate is None or self._slots == self._rate.slots:
            return
        quiet = int((self._loop.time() - self._quiet_since) / self._rate.hold)
        if quiet > 0:
            self._quiet_since += quiet * self._rate.hold
            back = quiet * ceil(self._rate.slots * RECOVERED)
            self._use(min(self._rate.slots, self._slots + back))

    def _use(self, slots: int) -> None:
        self._slots = slots
        self._gap = 0.0 if self._rate is None else self._rate.hold / slots
        if self._rate is not None:
            from aiolimiter import AsyncLimiter  # it reads its own metadata to know its version

            portion = max(1, int(PORTION / self._gap))
            self._pacer = AsyncLimiter(portion, portion * self._gap)


class Slot:
    """Permission to send one attempt. Report how the attempt ended; only the first report counts.

    If its ``with`` block ends without a report, the attempt counts as lost: it may still arrive.
    """

    __slots__ = ("_throttle", "ended", "taken_at")

    def __init__(self, throttle: Throttle, taken_at: float) -> None:
        self._throttle = throttle
        self.taken_at = taken_at
        self.ended = False

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *exception: object) -> None:
        self._throttle._end(self, "lost")

    def answered(self) -> None:
        """Note that a response other than a refusal has just arrived."""
        self._throttle._end(self, "answered")
        if self.taken_at >= self._throttle._lowered_at:
            self._throttle._next_pause = FIRST_PAUSE

    def refused(self, retry_after: float | None = None) -> None:
        """Note that the response says that the limit is exceeded (429).

        Args:
            retry_after: how many seconds the service asks to wait; None: it does not say, so the
                pause is a window of the limit or, without a limit, longer each time.
        """
        self._throttle._end(self, "answered")
        self._throttle._learn(self, retry_after)

    def unsent(self) -> None:
        """Note that nothing was sent, so the slot is free at once."""
        self._throttle._end(self, "unsent")
