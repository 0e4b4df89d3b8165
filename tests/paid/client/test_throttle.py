from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from heapq import heapreplace
from itertools import pairwise
from random import Random
from types import TracebackType
from typing import Protocol, Self, TypeAlias

import pytest
from aiolimiter import AsyncLimiter
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.paid.client import throttle as module
from pipeline.paid.client.throttle import Slot, Throttle
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from tests.paid.client.virtual_time import run


class Ends(Protocol):
    """What a worker tells of an attempt."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def answered(self) -> None: ...
    def refused(self, retry_after: float | None = None) -> None: ...
    def unsent(self) -> None: ...


class Limiter(Protocol):
    """A throttle, or something to compare it with."""

    async def slot(self, remaining: Callable[[], int] | None = None) -> Ends: ...


@dataclass(frozen=True)
class Story:
    """What happens to a job: its limit, its network, and what goes wrong."""

    rate: Rate = AUTHENTICATED
    calls: int = 600
    workers: int = 16
    burst: bool = False
    slowest: float = 0.5
    timeout: float = 30.0
    late_arrival: float = 60.0
    losses: float = 0.0
    refusals: float = 0.0
    unsent: float = 0.0
    crashes: tuple[float, ...] = ()
    downtime: float = 0.0
    seed: int = 0


Make: TypeAlias = Callable[[Story, list[float]], Limiter]


def throttle(story: Story, busy_until: list[float]) -> Throttle:
    return Throttle(
        story.rate,
        burst=story.burst,
        late_arrival=story.late_arrival,
        busy_until=busy_until,
    )


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
    make: Make = throttle
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
            limiter = self.make(self.story, self._seeds())
            try:
                async with asyncio.timeout(lifetime), asyncio.TaskGroup() as pool:
                    for _ in range(self.story.workers):
                        pool.create_task(self._worker(limiter))
            except TimeoutError:
                await asyncio.sleep(self.story.downtime)

    def _seeds(self) -> list[float]:
        rate, late, now = (
            self.story.rate,
            self.story.late_arrival,
            asyncio.get_running_loop().time(),
        )
        return [
            rate.answered_until(sent.answered)
            if sent.answered is not None
            else rate.lost_until(now if sent.given_up is None else sent.given_up, late)
            for sent in self.sent
        ]

    async def _worker(self, limiter: Limiter) -> None:
        while self.left:
            self.left -= 1
            with await limiter.slot(lambda: self.left + 1) as slot:
                if self.random.random() < self.story.unsent:
                    slot.unsent()
                else:
                    await self._attempt(slot)

    async def _attempt(self, slot: Ends) -> None:
        clock, story = asyncio.get_running_loop().time, self.story
        there, back = self._share() * story.slowest, self._share() * story.slowest
        lost = self.random.random() < story.losses or there + back > story.timeout
        if lost:
            there = self._share() * (story.timeout + story.late_arrival)
        sent = Sent(clock() + there)
        self.sent.append(sent)
        try:
            await asyncio.sleep(story.timeout if lost else there + back)
        except asyncio.CancelledError:
            sent.arrives = min(sent.arrives, clock() + story.late_arrival)
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


@settings(max_examples=300, derandomize=True)
@given(
    story=st.builds(
        Story,
        rate=st.builds(Rate, st.integers(1, 12), st.sampled_from([0.5, 6.0, 60.0])),
        calls=st.integers(1, 200),
        workers=st.integers(1, 20),
        burst=st.booleans(),
        slowest=st.sampled_from([0.0, 0.1, 1.0, 20.0]),
        timeout=st.sampled_from([1.0, 5.0, 30.0]),
        late_arrival=st.sampled_from([0.0, 2.0, 60.0]),
        losses=st.sampled_from([0.0, 0.1, 0.5]),
        refusals=st.sampled_from([0.0, 0.05, 0.3]),
        unsent=st.sampled_from([0.0, 0.2]),
        crashes=st.lists(st.floats(0.1, 200.0), max_size=3).map(tuple),
        downtime=st.sampled_from([0.0, 1.0, 30.0]),
        seed=st.integers(0, 2**32),
    ),
    clock=st.sampled_from([0.9991, 1.0, 1.0009]),
)
def test_no_window_of_the_server_sees_more_than_the_limit(story: Story, clock: float) -> None:
    played = Play(story)
    assert played.crowded(clock) == 0
    assert played.left == 0


class Told(AbstractContextManager["Told", None]):
    """Takes no notice."""

    def __exit__(self, *_: object) -> None: ...

    def answered(self) -> None: ...
    def refused(self, retry_after: float | None = None) -> None: ...
    def unsent(self) -> None: ...


class Plain:
    """aiolimiter alone."""

    def __init__(self, attempts: float, seconds: float) -> None:
        self._limiter = AsyncLimiter(attempts, seconds)

    async def slot(self, remaining: Callable[[], int] | None = None) -> Told:
        await self._limiter.acquire()
        return Told()


ORDINARY = Story()


@pytest.mark.parametrize(
    ("story", "make"),
    [
        pytest.param(ORDINARY, lambda story, seeds: Plain(100, 60), id="a bucket alone"),
        pytest.param(ORDINARY, lambda story, seeds: Plain(1, 0.6), id="even pacing alone"),
        pytest.param(
            replace(ORDINARY, losses=0.3, burst=True, workers=100),
            lambda story, seeds: Throttle(story.rate, late_arrival=0.0, burst=True),
            id="late arrivals not waited for",
        ),
        pytest.param(
            replace(ORDINARY, crashes=(30.0,), burst=True),
            lambda story, seeds: Throttle(story.rate, burst=True),
            id="a restart that forgets",
        ),
        pytest.param(
            ORDINARY, lambda story, seeds: Throttle(Rate(101, 60.0), burst=True), id="one too many"
        ),
        pytest.param(
            replace(ORDINARY, slowest=0.0),
            lambda story, seeds: Throttle(Rate(100, 59.9), burst=True),
            id="a window too short",
        ),
    ],
)
def test_the_property_can_fail(story: Story, make: Make) -> None:
    assert Play(story).crowded() == 0
    assert Play(story, make).crowded() > 0


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


class FixedWindow:
    """Counts anew from each full minute, or whatever its window is."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._window, self._count = -1, 0

    def admits(self, now: float) -> bool:
        if self._window != now // self._rate.window:
            self._window, self._count = int(now // self._rate.window), 0
        self._count += 1
        return self._count <= self._rate.slots


class TokenBucket:
    """Holds as many tokens as the limit, and gets one back at even intervals."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._tokens, self._filled = float(rate.slots), 0.0

    def admits(self, now: float) -> bool:
        new = (now - self._filled) * self._rate.slots / self._rate.window
        self._tokens, self._filled = min(float(self._rate.slots), self._tokens + new), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


Server: TypeAlias = SlidingWindow | FixedWindow | TokenBucket
SERVERS: tuple[type[Server], ...] = (SlidingWindow, FixedWindow, TokenBucket)


@pytest.fixture(scope="module")
def hour() -> Play:
    """A little more than an hour at half a second from sending to response, on average."""
    return Play(replace(ORDINARY, calls=6100))


@pytest.mark.parametrize("kind", SERVERS)
def test_an_hour_uses_the_limit_and_draws_no_refusal(hour: Play, kind: type[Server]) -> None:
    server = kind(AUTHENTICATED)
    admitted = [server.admits(arrival) for arrival in hour.arrivals]
    assert all(admitted)
    start = hour.arrivals[0]
    assert sum(arrival < start + 3600 for arrival in hour.arrivals) >= 0.97 * 6000


def test_the_server_sees_an_even_stream(hour: Play) -> None:
    tenth_of_a_window = [
        last - first for first, last in zip(hour.arrivals, hour.arrivals[13:], strict=False)
    ]
    assert min(tenth_of_a_window) > 6.0


@pytest.mark.parametrize("kind", SERVERS)
def test_a_bucket_alone_is_refused(kind: type[Server]) -> None:
    server = kind(AUTHENTICATED)
    played = Play(replace(ORDINARY, calls=6100), lambda story, seeds: Plain(100, 60))
    assert sum(arrival < played.arrivals[0] + 60 for arrival in played.arrivals) > 190
    refused = [not server.admits(arrival) for arrival in played.arrivals]
    assert any(refused) or kind is TokenBucket


def test_as_many_demo_calls_as_slots_go_at_once() -> None:
    story = Story(rate=DEMO, calls=10, workers=4)
    assert Play(story).arrivals[-1] < 1010
    more = Play(replace(story, calls=11)).arrivals
    assert more[0] < 1001 and more[1] > 1360


def test_a_burst_finishes_a_short_job_sooner() -> None:
    story = replace(ORDINARY, calls=150)
    paced, burst = Play(story), Play(replace(story, burst=True))
    assert burst.arrivals[-1] < 1000 + 63 < 1000 + 89 < paced.arrivals[-1]


# From here on single attempts: when one may go, and what is left behind.


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


@pytest.mark.parametrize(
    ("end", "free_after"),
    [
        (Slot.answered, 60.06),
        (Slot.refused, 60.06),
        (Slot.unsent, 0.0),
        (lambda slot: None, 20 + 60.06),
    ],
    ids=["answered", "refused", "unsent", "nothing known"],
)
def test_how_an_attempt_ends_says_when_its_slot_is_free(
    end: Callable[[Slot], None], free_after: float
) -> None:
    async def main() -> float:
        limiter = Throttle(Rate(1, 60), burst=True, late_arrival=20)
        with await limiter.slot() as slot:
            await asyncio.sleep(5)
            end(slot)
        return await take(limiter)

    assert run(main()) == pytest.approx(1005 + free_after, abs=0.01)


def test_only_the_first_word_on_an_attempt_counts() -> None:
    async def main() -> tuple[int, float]:
        limiter = Throttle(Rate(2, 60), burst=True)
        with await limiter.slot() as slot:
            slot.answered()
            await asyncio.sleep(5)
            slot.unsent()
            slot.answered()
        free = limiter.free
        await together(1, limiter)
        return free, await take(limiter)

    free, sent = run(main())
    assert free == 1
    assert sent == pytest.approx(1060.06, abs=0.01)


def test_an_attempt_left_by_an_error_or_cancelled_may_still_arrive() -> None:
    async def main() -> float:
        limiter = Throttle(Rate(2, 60), burst=True)
        with pytest.raises(OSError, match="cut off"), await limiter.slot():
            await asyncio.sleep(5)
            raise OSError("cut off")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(take(limiter, seconds=100), 2)
        return await take(limiter)

    assert run(main()) == pytest.approx(1005 + 60 + 60.06, abs=0.01)


def test_slots_of_the_process_before_are_still_held() -> None:
    async def main() -> tuple[int, list[float]]:
        limiter = Throttle(Rate(3, 60), burst=True, busy_until=[1030.0, 900.0, 1007.0])
        return limiter.free, await together(3, limiter)

    free, sent = run(main())
    assert free == 1
    assert sent == pytest.approx([1000, 1007, 1030], abs=0.01)


def test_without_a_limit_nothing_waits_but_for_a_pause() -> None:
    async def main() -> tuple[list[float], float, float]:
        limiter = Throttle(None)
        sent = await together(1000, limiter, None)
        await refuse(limiter)
        return sent, limiter.eta(10**9), await take(limiter)

    sent, eta, later = run(main())
    assert max(sent) < 1000.1
    assert eta == pytest.approx(1, abs=0.1)
    assert later == pytest.approx(1001, abs=0.1)


def test_without_a_limit_pauses_double_up_to_a_minute_until_an_answer_comes() -> None:
    async def main() -> list[float]:
        limiter, clock, sent = Throttle(None), asyncio.get_running_loop().time, list[float]()
        for _ in range(8):
            await refuse(limiter)
            sent.append(clock())
        sent.append(await take(limiter))
        await refuse(limiter)
        sent.append(await take(limiter))
        return [later - earlier for earlier, later in pairwise(sent)]

    pauses = run(main())
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 1], abs=0.1)


def test_refusals_of_one_moment_double_the_pause_once() -> None:
    async def main() -> list[float]:
        limiter, clock = Throttle(None), asyncio.get_running_loop().time
        began = clock()
        slots = [await limiter.slot() for _ in range(6)]
        await asyncio.sleep(0.01)
        for slot in slots[:4]:
            slot.refused()
        slots[4].answered()  # it was sent before the refusal, so it says nothing of the limit
        slots[5].refused()
        sent = [await take(limiter) - began]
        await refuse(limiter)
        return [*sent, await take(limiter) - began]

    assert run(main()) == pytest.approx([1, 2], abs=0.1)


def test_answers_of_calls_sent_before_a_refusal_do_not_reset_its_pause() -> None:
    async def main() -> float:
        limiter, clock = Throttle(None), asyncio.get_running_loop().time
        slots = [await limiter.slot() for _ in range(2)]
        await asyncio.sleep(0.01)
        slots[0].refused()
        slots[1].answered()
        await refuse(limiter)
        began = clock()
        return await take(limiter) - began

    assert run(main()) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("retry_after", "until"), [(None, 60.0), (7.0, 7.0), (100.0, 100.0)])
def test_a_refusal_lets_everybody_wait(retry_after: float | None, until: float) -> None:
    async def main() -> list[float]:
        limiter = Throttle(Rate(100, 60))
        with await limiter.slot() as slot:
            waiting = [asyncio.create_task(take(limiter, None)) for _ in range(3)]
            await asyncio.sleep(0.1)
            slot.refused(retry_after)
        return list(await asyncio.gather(*waiting))

    sent = run(main())
    assert min(sent) >= 1000.1 + until
    assert max(sent) < 1000.1 + until + 3


def test_a_pause_reaches_those_who_wait_for_a_slot_and_never_ends_early() -> None:
    async def main() -> list[float]:
        limiter = Throttle(Rate(2, 60), burst=True, busy_until=[1010.0, 1020.0])
        waiting = asyncio.create_task(together(2, limiter))
        await asyncio.sleep(5)
        limiter.pause(7)
        limiter.pause(1)
        await asyncio.sleep(6)
        limiter.pause(30)
        return await waiting

    assert run(main()) == pytest.approx([1041, 1041], abs=0.01)


@pytest.mark.parametrize("place", ["pause", "slot", "pace", "turn"])
def test_a_cancelled_wait_takes_no_slot_and_leaves_nothing(place: str) -> None:
    async def main() -> tuple[int, int, list[float]]:
        busy = [1010.0] * (4 if place == "slot" else 2)
        limiter = Throttle(Rate(4, 60), busy_until=busy)
        if place == "pause":
            limiter.pause(10)
        if place == "pace":
            with await limiter.slot(None) as slot:
                slot.unsent()
        waiting = [asyncio.create_task(take(limiter, None)) for _ in range(3)]
        await asyncio.sleep(0)
        dropped = waiting[1:] if place == "turn" else waiting[:2]
        await asyncio.sleep(0 if place in ("turn", "pace") else 1)
        for task in dropped:
            task.cancel()
        await asyncio.gather(*dropped, return_exceptions=True)
        assert all(task.cancelled() for task in dropped)
        sent = [await task for task in waiting if task not in dropped]
        await asyncio.sleep(15)
        return limiter.free, len(asyncio.all_tasks()), sent

    free, tasks, sent = run(main())
    assert (free, tasks) == (3, 1)
    start = {"pause": 1010, "slot": 1010, "pace": 1015, "turn": 1000}[place]
    assert sent == pytest.approx([start], abs=0.1)


def test_attempts_go_in_the_order_in_which_they_ask() -> None:
    async def main() -> list[float]:
        limiter = Throttle(Rate(20, 60))
        waiting = [asyncio.create_task(take(limiter, None)) for _ in range(90)]
        await asyncio.sleep(10)
        for task in waiting[40:90:3]:
            task.cancel()
        limiter.pause(5)
        results = await asyncio.gather(*waiting, return_exceptions=True)
        return [result for result in results if isinstance(result, float)]

    sent = run(main())
    assert len(sent) == 90 - 17
    assert all(first < then for first, then in pairwise(sent))


def test_refusals_of_one_moment_lower_the_slots_once() -> None:
    async def main() -> tuple[int, int]:
        limiter = Throttle(AUTHENTICATED)
        gate = asyncio.Event()

        async def one() -> None:
            with await limiter.slot(lambda: 1) as slot:
                await gate.wait()
                slot.refused()

        under_way = [asyncio.create_task(one()) for _ in range(8)]
        await asyncio.sleep(1)
        gate.set()
        await asyncio.gather(*under_way)
        once = limiter.slots
        await refuse(limiter)
        return once, limiter.slots

    assert run(main()) == (75, 56)


def test_slots_come_back_slowly_and_no_further_than_the_rate() -> None:
    async def main() -> list[int]:
        limiter = Throttle(AUTHENTICATED)
        await refuse(limiter)
        slots = [limiter.slots]
        await asyncio.sleep(60 + 1)
        for _ in range(15):
            slots.append(limiter.slots)
            await asyncio.sleep(60.06)
        return slots

    assert run(main()) == [75, *range(75, 100, 2), 100, 100]


def test_one_slot_is_always_left_and_comes_back() -> None:
    async def main() -> tuple[int, int]:
        limiter = Throttle(Rate(3, 1))
        for _ in range(9):
            await refuse(limiter)
        least = limiter.slots
        await asyncio.sleep(10)
        return least, limiter.slots

    assert run(main()) == (1, 3)


def test_fewer_slots_pace_more_slowly(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> list[float]:
        limiter = Throttle(AUTHENTICATED)
        await refuse(limiter, 0.0)
        return await together(20, limiter, None)

    sent = run(main())
    assert sent[-1] - sent[0] == pytest.approx(19 * 60 / 75, rel=0.01)
    assert "100/min" in caplog.text and "75" in caplog.text


def test_a_key_that_is_shared_is_shared_with_few_refusals() -> None:
    """Somebody else makes 40 calls a minute for two hours, then none for one."""

    async def main() -> tuple[list[float], list[float], int]:
        clock, server = asyncio.get_running_loop().time, SlidingWindow(AUTHENTICATED)
        limiter, ours, refused = Throttle(AUTHENTICATED), list[float](), list[float]()

        async def somebody_else() -> None:
            while clock() < 1000 + 7200:
                server.admits(clock())
                await asyncio.sleep(1.5)

        async def worker() -> None:
            while clock() < 1000 + 10800:
                with await limiter.slot() as slot:
                    await asyncio.sleep(0.25)
                    admitted = server.admits(clock())
                    (ours if admitted else refused).append(clock())
                    await asyncio.sleep(0.25)
                    slot.answered()
                    if not admitted:
                        slot.refused()

        await asyncio.gather(somebody_else(), *(worker() for _ in range(8)))
        return ours, refused, limiter.slots

    ours, refused, slots = run(main())
    shared = sum(at < 1000 + 7200 for at in ours)
    assert shared > 0.7 * 60 * 120
    assert len(refused) < 30
    assert slots == 100


async def estimates(
    limiter: Throttle, calls: int, workers: int, seconds: float
) -> list[tuple[float, float]]:
    """Do a job; return what was estimated at its start and on the way, and what it took."""
    clock, left, unsent = asyncio.get_running_loop().time, calls, calls
    said = [(clock(), limiter.eta(calls))]

    def still_unsent() -> int:
        return unsent

    async def worker() -> None:
        nonlocal left, unsent
        while left:
            left -= 1
            with await limiter.slot(still_unsent) as slot:
                unsent -= 1
                if unsent:
                    said.append((clock(), limiter.eta(unsent)))
                await asyncio.sleep(seconds)
                slot.answered()

    await asyncio.gather(*(worker() for _ in range(workers)))
    return [(estimate, clock() - at) for at, estimate in said]


@pytest.mark.parametrize(
    ("rate", "calls", "burst"),
    [
        (AUTHENTICATED, 20, False),
        (AUTHENTICATED, 150, False),
        (AUTHENTICATED, 150, True),
        (AUTHENTICATED, 1500, False),
        (AUTHENTICATED, 1500, True),
        (DEMO, 25, False),
        (DEMO, 25, True),
    ],
)
@pytest.mark.parametrize("held", [0.0, 0.9])
@pytest.mark.parametrize("paused", [0.0, 100.0])
def test_the_estimate_is_what_it_takes(
    rate: Rate, calls: int, burst: bool, held: float, paused: float
) -> None:
    async def main() -> list[tuple[float, float]]:
        now, slots = asyncio.get_running_loop().time(), int(rate.slots * held)
        busy = [now + rate.window * (turn + 1) / slots for turn in range(slots)]
        limiter = Throttle(rate, burst=burst, busy_until=busy)
        limiter.pause(paused)
        return await estimates(limiter, calls, 4, 0.5)

    for estimate, took in run(main()):
        assert estimate == pytest.approx(took, rel=0.025, abs=8)


def test_the_estimate_knows_slow_workers() -> None:
    async def main() -> list[tuple[float, float]]:
        return await estimates(Throttle(AUTHENTICATED), 100, 2, 10.0)

    for estimate, took in run(main())[10:-1]:
        assert estimate == pytest.approx(took, rel=0.025, abs=15)


def test_the_estimate_knows_that_slots_were_given_up() -> None:
    async def main() -> tuple[float, float]:
        busy = [1000.0 + turn for turn in range(1, 8)]
        limiter = Throttle(Rate(8, 60), burst=True, busy_until=busy)
        await refuse(limiter, 0.0)
        return limiter.eta(1), await take(limiter)

    eta, sent = run(main())
    assert eta == pytest.approx(3, abs=0.01)
    assert sent == pytest.approx(1003, abs=0.01)


def test_nothing_more_takes_no_time() -> None:
    async def main() -> float:
        limiter = Throttle(AUTHENTICATED)
        limiter.pause(10)
        return limiter.eta(0)

    assert run(main()) == 0.0


def test_a_pause_is_kept_by_the_next_process() -> None:
    async def main() -> tuple[float, list[float]]:
        limiter = Throttle(Rate(3, 60), burst=True, slots=2, paused_until=1040.0)
        return limiter.pause_left, await together(3, limiter)

    left, sent = run(main())
    assert left == pytest.approx(40, abs=0.01)
    assert sent == pytest.approx([1040, 1040, 1100.06], abs=0.01)


def test_a_pause_is_kept_without_a_limit_too() -> None:
    async def main() -> float:
        return await take(Throttle(None, slots=2**63 - 1, paused_until=1040.0))

    assert run(main()) == pytest.approx(1040, abs=0.01)


@pytest.mark.parametrize(
    ("paused_until", "slots"), [(1000.0, 75), (939.0, 77), (1000.0 - 12 * 60.06, 99), (0.0, 100)]
)
def test_slots_given_up_come_back_while_no_process_runs(paused_until: float, slots: int) -> None:
    async def main() -> tuple[int, int]:
        limiter = Throttle(AUTHENTICATED, slots=75, paused_until=paused_until)
        now = limiter.slots
        await asyncio.sleep(60.06)
        return now, limiter.slots

    assert run(main()) == (slots, min(100, slots + 2))


def test_the_next_process_goes_on_as_the_one_before_would_have() -> None:
    """Two throttles learn the same; one of them is replaced by another on the way."""

    async def main() -> tuple[list[int], list[int]]:
        clock = asyncio.get_running_loop().time
        through, broken = Throttle(AUTHENTICATED), Throttle(AUTHENTICATED)
        for limiter in (through, broken):
            await refuse(limiter, 7.0)
        slots, paused_until = broken.slots, clock() + broken.pause_left
        seen: list[int] = []
        resumed: list[int] = []
        for turn in range(12):
            await asyncio.sleep(50)
            if turn == 3:
                broken = Throttle(AUTHENTICATED, slots=slots, paused_until=paused_until)
            seen.append(through.slots)
            resumed.append(broken.slots)
        return seen, resumed

    through, broken = run(main())
    assert through == broken
    assert through[0] < through[-1]


def test_a_lower_limit_than_what_was_learned_is_kept() -> None:
    async def main() -> int:
        return Throttle(Rate(10, 60), slots=75, paused_until=1000.0).slots

    assert run(main()) == 10


@pytest.mark.parametrize("burst", [True, False])
@pytest.mark.parametrize("calls", [3_000, 5_000, 70_000])
def test_an_estimate_at_a_high_limit_takes_little_work_and_is_nearly_as_good(
    calls: int, burst: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0

    def counted(ready: list[float], end: float) -> float:
        nonlocal steps
        steps += 1
        return heapreplace(ready, end)

    async def main() -> float:
        busy = [1000.0 + turn * 0.5 for turn in range(1, 5_000)]
        return Throttle(Rate(7_000, 3600), burst=burst, busy_until=busy).eta(calls)

    monkeypatch.setattr(module, "heapreplace", counted)
    estimate = run(main())
    assert steps <= 2_000
    monkeypatch.setattr(module, "MOST_SIMULATED", 7_000)
    assert estimate == pytest.approx(run(main()), rel=0.01, abs=8)


def test_a_slot_that_has_become_free_does_not_hide_how_long_the_next_one_is_held() -> None:
    async def main() -> float:
        now = asyncio.get_running_loop().time()
        throttle = Throttle(Rate(1, 60), busy_until=[now + 1, now + 50])
        await asyncio.sleep(2)
        return throttle.next_slot

    assert run(main()) == pytest.approx(48)
