"""Keeps an interface's limit as its server counts it, whatever the network does in between."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import heapify, heappop, heappush, heapreplace
from math import ceil
from types import TracebackType
from typing import Literal

from aiolimiter import AsyncLimiter

from pipeline.rate import AUTHENTICATED, Rate

__all__ = ["Slot", "Throttle"]

LOWERED = 0.75
"""The part of the slots in use that a refusal leaves."""

RECOVERED = 0.02
"""The part of the rate's slots that comes back after each window without a refusal."""

PORTION = 0.1
"""Attempts closer than this are paced several at once, seconds: timers are a millisecond coarse."""

FIRST_PAUSE = 1.0
"""The pause after a refusal where neither a limit nor the service says how long, seconds.

Each refusal behind it doubles the pause, up to the window of an account's limit."""

SMOOTHING = 1 / 16
"""The weight of the newest attempt in the average time that attempts take."""

log = logging.getLogger(__name__)


class Throttle:
    """Lets attempts through so that the server never sees more than the rate allows.

    An attempt takes one of the rate's slots before it is sent and holds it until a full window
    after its response arrived, or, without one, until `late_arrival` and a full window after it
    was given up.

    Why that is enough: take any window of the server's, and of the attempts that arrive in it
    the one that was sent last. When it was sent, every other one had been sent already, and none
    had given its slot back: it arrives in this window, and keeps its slot for a full window
    after the last moment at which it can have arrived. So they all held slots at that moment,
    and there are no more of them than slots. Fixed windows are some of these windows, and a
    bucket of that many tokens gives way to whatever fits them all. Not covered: arrivals later
    than `late_arrival`, and other users of the key.

    Inside that guard aiolimiter spreads the attempts evenly, unless no more calls remain than
    slots are free. It does not serve its waiters in order, so it has never more than one here:
    attempts take their turns in the order in which they ask.

    A refusal although the limit was kept means that somebody else uses the key: a quarter of the
    slots in use is given up, once for all attempts under way, and a fiftieth of the rate's comes
    back after each window without a refusal, at least one and up to all of them.

    It belongs to the event loop it is made in, and all its times are that loop's.

    Args:
        rate: the limit, or None for no limit; pauses are kept all the same, and where the service
            does not say how long, the first is a second, and each refusal doubles it until an
            attempt is answered.
        burst: do not spread: send as soon as a slot is free, which ends a short job sooner.
        late_arrival: how long after it was given up an attempt may still reach the server,
            seconds; None: one window.
        busy_until: when slots that the previous process took come free, one time for each
            (see `Rate.answered_until` and `Rate.lost_until`).
        slots: how many of the rate's slots the last refusal left in use; None: there was none.
        paused_until: until when that refusal lets nobody through; windows without a refusal
            count from then on. None: there was none.
    """

    def __init__(
        self,
        rate: Rate | None,
        *,
        burst: bool = False,
        late_arrival: float | None = None,
        busy_until: Sequence[float] = (),
        slots: int | None = None,
        paused_until: float | None = None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._rate = rate
        self._burst = burst or rate is None
        self._late_arrival = late_arrival
        self._turn = asyncio.Lock()
        self._changed = asyncio.Event()
        self._in_flight = 0
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
        """Wait until an attempt may be sent; give its slot, which it holds while it is under way.

        ``with await throttle.slot() as slot:`` is how to use it. A wait that is cancelled takes no
        slot.

        Args:
            remaining: says how many calls are still to be sent, with this one and without those
                under way, when the attempt's turn has come; None: unknown, many.
        """
        async with self._turn:
            free = await self._clear()
            if not self._burst and (remaining is None or remaining() > free):
                await self._pacer.acquire()
                await self._clear()
            self._in_flight += 1
            self._most_in_flight = max(self._most_in_flight, self._in_flight)
            return Slot(self, self._loop.time())

    def pause(self, seconds: float) -> None:
        """Let nobody through for some seconds, whoever waits already included."""
        self._paused_until = max(self._paused_until, self._loop.time() + seconds)

    @property
    def slots(self) -> int:
        """How many slots are in use: the rate's, or fewer after refusals."""
        self._recover()
        return self._slots

    @property
    def free(self) -> int:
        """How many attempts could be sent now, were it not for pacing and pauses."""
        now = self._loop.time()
        while self._busy_until and self._busy_until[0] <= now:
            heappop(self._busy_until)
        return max(0, self.slots - self._in_flight - len(self._busy_until))

    @property
    def pause_left(self) -> float:
        """For how long from now on nobody is let through because of a refusal, seconds."""
        return max(0.0, self._paused_until - self._loop.time())

    def eta(self, calls: int) -> float:
        """Estimate how long what is under way and so many further calls will take, seconds.

        Slots held now, the present pace, a pause and the time that attempts took so far are
        counted. It plays through two windows, so it is for a display, not for each attempt.
        """
        if calls <= 0:
            return self._mean_time if self._in_flight else 0.0
        by_workers = (calls + self._in_flight) * self._mean_time / self._most_in_flight
        return max(by_workers, self._last_sent(calls) + self._mean_time)

    def _last_sent(self, calls: int) -> float:
        now, free = self._loop.time(), self.free
        sent = max(0.0, self._paused_until - now)
        if self._rate is None or calls <= free:
            return sent
        ready = [until - now for until in self._busy_until] + [self._rate.hold] * self._in_flight
        ready = sorted(ready)[max(0, len(ready) - self._slots) :] + [0.0] * free
        heapify(ready)
        at_once = self._burst or calls <= sum(wait <= sent for wait in ready)
        gap = 0.0 if at_once else self._rate.hold / self._slots
        turn = self._rate.hold + self._mean_time
        # From the second turn of the slots on, each is like the one before.
        skipped = max(0, (calls - 1) // self._slots - 1)
        sent -= gap
        for _ in range(calls - skipped * self._slots):
            sent = max(sent + gap, ready[0])
            heapreplace(ready, sent + turn)
        return sent + skipped * turn

    async def _clear(self) -> int:
        """Wait until a slot is free and no pause is on; return how many slots are."""
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
        """Take an attempt as over, unless it is already."""
        if slot.ended:
            return
        slot.ended = True
        now = self._loop.time()
        self._in_flight -= 1
        if self._rate is not None and how == "answered":
            heappush(self._busy_until, self._rate.answered_until(now))
        elif self._rate is not None and how == "lost":
            heappush(self._busy_until, self._rate.lost_until(now, self._late_arrival))
        took = now - slot.taken_at
        self._mean_time += (took - self._mean_time) * (SMOOTHING if self._mean_time else 1.0)
        self._changed.set()

    def _learn(self, slot: Slot, retry_after: float | None) -> None:
        """Pause everybody; use fewer slots, unless a refusal of the same moment has seen to it."""
        first = slot.taken_at >= self._lowered_at
        self.pause(self._own_pause(first) if retry_after is None else retry_after)
        self._recover()
        if first:
            self._lowered_at = self._loop.time()
        if first and self._rate is not None:
            self._use(max(1, int(self._slots * LOWERED)))
            log.warning(
                f"The service refused an attempt although {self._rate} was kept: does somebody "
                f"else use the key? {self._slots} of its {self._rate.slots} slots stay in use."
            )
        self._quiet_since = self._paused_until

    def _own_pause(self, first: bool) -> float:
        """Return how long to wait where the service does not say, seconds."""
        if self._rate is not None:
            return self._rate.window
        pause = self._next_pause
        if first:
            self._next_pause = min(2 * pause, AUTHENTICATED.window)
        return pause if first else 0.0

    def _recover(self) -> None:
        """Give slots back for the windows without a refusal since this was last done."""
        if self._rate is None or self._slots == self._rate.slots:
            return
        quiet = int((self._loop.time() - self._quiet_since) / self._rate.hold)
        if quiet > 0:
            self._quiet_since += quiet * self._rate.hold
            back = quiet * ceil(self._rate.slots * RECOVERED)
            self._use(min(self._rate.slots, self._slots + back))

    def _use(self, slots: int) -> None:
        self._slots = slots
        if self._rate is not None:
            gap = self._rate.hold / slots
            portion = max(1, int(PORTION / gap))
            self._pacer = AsyncLimiter(portion, portion * gap)


class Slot:
    """One attempt's leave to be sent once. It is told how that ended; the first word counts.

    A block left without telling it, by an error or a cancellation too, counts as an attempt that
    may still arrive.
    """

    __slots__ = ("_throttle", "ended", "taken_at")

    def __init__(self, throttle: Throttle, taken_at: float) -> None:
        self._throttle = throttle
        self.taken_at = taken_at
        self.ended = False

    def __enter__(self) -> Slot:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._throttle._end(self, "lost")

    def answered(self) -> None:
        """A response has arrived that is no refusal; to be told as soon as it has."""
        self._throttle._end(self, "answered")
        if self.taken_at >= self._throttle._lowered_at:
            self._throttle._next_pause = FIRST_PAUSE

    def refused(self, retry_after: float | None = None) -> None:
        """The response says that the limit is passed (429).

        Args:
            retry_after: how long the service asks everybody to wait, seconds; None: it does not
                say, so a window of the limit, or without a limit longer each time.
        """
        self._throttle._end(self, "answered")
        self._throttle._learn(self, retry_after)

    def unsent(self) -> None:
        """Nothing was sent, so the slot is free at once: no connection, or nothing to ask."""
        self._throttle._end(self, "unsent")
