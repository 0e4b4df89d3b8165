"""Jobs, single attempts and servers in virtual time: with a network, losses and crashes."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from random import Random

from pipeline.paid.client.throttle import Slot, Throttle
from pipeline.rate import AUTHENTICATED, Rate
from tests.paid.client.virtual_time import run


@dataclass(frozen=True)
class Story:
    """What happens to a job: its limit, its network, and what goes wrong."""

    rate: Rate = AUTHENTICATED
    calls: int = 600
    workers: int = 16
    burst: bool = False
    slowest: float = 0.5
    timeout: float = 30.0
    losses: float = 0.0
    refusals: float = 0.0
    unsent: float = 0.0
    crashes: tuple[float, ...] = ()
    downtime: float = 0.0
    seed: int = 0


@dataclass
class Sent:
    """An attempt: when it reaches the server, and when its client knew how it ended."""

    arrives: float
    answered: float | None = None
    given_up: float | None = None


@dataclass
class Play:
    """Lets a story happen, and notes when each attempt reaches the server."""

    story: Story
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.story.seed)
        self.left = self.story.calls
        run(self._processes())
        self.arrivals = sorted(sent.arrives for sent in self.sent)

    def crowded(self, clock: float = 1.0) -> int:
        """How many windows hold too many arrivals, on a server's clock of a given speed."""
        slots, window = self.story.rate.slots, self.story.rate.window
        ends = zip(self.arrivals, self.arrivals[slots:], strict=False)
        return sum((last - first) * clock < window for first, last in ends)

    async def _processes(self) -> None:
        for lifetime in (*self.story.crashes, None):
            story, seeds = self.story, self._seeds()
            limiter = Throttle(story.rate, burst=story.burst, busy_until=seeds)
            try:
                async with asyncio.timeout(lifetime), asyncio.TaskGroup() as pool:
                    for _ in range(self.story.workers):
                        pool.create_task(self._worker(limiter))
            except TimeoutError:
                await asyncio.sleep(self.story.downtime)

    def _seeds(self) -> list[float]:
        rate, now = self.story.rate, asyncio.get_running_loop().time()
        return [
            rate.answered_until(sent.answered)
            if sent.answered is not None
            else rate.lost_until(now if sent.given_up is None else sent.given_up)
            for sent in self.sent
        ]

    async def _worker(self, limiter: Throttle) -> None:
        while self.left:
            self.left -= 1
            with await limiter.slot(lambda: self.left + 1) as slot:
                if self.random.random() < self.story.unsent:
                    slot.unsent()
                else:
                    await self._attempt(slot)

    async def _attempt(self, slot: Slot) -> None:
        clock, story = asyncio.get_running_loop().time, self.story
        there, back = self._share() * story.slowest, self._share() * story.slowest
        lost = self.random.random() < story.losses or there + back > story.timeout
        if lost:
            there = self._share() * (story.timeout + story.rate.window)
        sent = Sent(clock() + there)
        self.sent.append(sent)
        try:
            await asyncio.sleep(story.timeout if lost else there + back)
        except asyncio.CancelledError:
            sent.arrives = min(sent.arrives, clock() + story.rate.window)
            raise
        if lost:
            sent.given_up = clock()
            return
        sent.answered = clock()
        if self.random.random() < story.refusals:
            slot.refused(self.random.choice([None, 0.0, 1.0]))
        else:
            slot.answered()

    def _share(self) -> float:
        """A part of the whole, often all of it or nothing: that is where limits break."""
        return self.random.choice([0.0, 1.0, self.random.random(), self.random.random()])


ORDINARY = Story()


class SlidingWindow:
    """Refuses what would be too many since a window ago."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._admitted: deque[float] = deque()

    def admits(self, now: float) -> bool:
        while self._admitted and self._admitted[0] <= now - self._rate.window:
            self._admitted.popleft()
        if len(self._admitted) >= self._rate.slots:
            return False
        self._admitted.append(now)
        return True


async def take(limiter: Throttle, remaining: int | None = 1, seconds: float = 0.0) -> float:
    """Make an attempt that is answered after some seconds; return when it was sent."""
    with await limiter.slot(None if remaining is None else lambda: remaining) as slot:
        sent = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds)
        slot.answered()
    return sent


async def refuse(limiter: Throttle, retry_after: float | None = None) -> None:
    with await limiter.slot(lambda: 1) as slot:
        slot.refused(retry_after)


async def together(attempts: int, limiter: Throttle, remaining: int | None = 1) -> list[float]:
    """Ask for attempts at the same time; return when each was sent, in the order of asking."""
    return list(await asyncio.gather(*(take(limiter, remaining) for _ in range(attempts))))
