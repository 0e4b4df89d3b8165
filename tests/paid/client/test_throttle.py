"""Attempts through the throttle: when one may go, and that the limit holds in every window."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.paid.client.throttle import Slot, Throttle
from pipeline.rate import AUTHENTICATED, Rate
from tests.paid.client.virtual_time import VIRTUAL, run

pytestmark = pytest.mark.anyio


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


@pytest.fixture
def anyio_backend() -> object:
    return VIRTUAL


@pytest.mark.parametrize(
    ("end", "free_after"),
    [
        (Slot.answered, 60.06),
        (Slot.refused, 60.06),
        (Slot.unsent, 0.0),
        (lambda slot: None, 60 + 60.06),
    ],
    ids=["answered", "refused", "unsent", "nothing known"],
)
async def test_how_an_attempt_ends_says_when_its_slot_is_free(
    end: Callable[[Slot], None], free_after: float
) -> None:
    limiter = Throttle(Rate(1, 60), burst=True)
    with await limiter.slot() as slot:
        await asyncio.sleep(5)
        end(slot)
    assert await take(limiter) == pytest.approx(1005 + free_after, abs=0.01)


async def test_an_attempt_left_by_an_error_or_cancelled_may_still_arrive() -> None:
    limiter = Throttle(Rate(2, 60), burst=True)
    with pytest.raises(OSError, match="cut off"), await limiter.slot():
        await asyncio.sleep(5)
        raise OSError("cut off")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(take(limiter, seconds=100), 2)
    assert await take(limiter) == pytest.approx(1005 + 60 + 60.06, abs=0.01)


async def test_slots_of_the_process_before_are_still_held() -> None:
    limiter = Throttle(Rate(3, 60), burst=True, busy_until=[1030.0, 900.0, 1007.0])
    assert limiter.free == 1
    assert await together(3, limiter) == pytest.approx([1000, 1007, 1030], abs=0.01)


async def test_without_a_limit_nothing_waits_but_for_a_pause() -> None:
    limiter = Throttle(None)
    assert max(await together(1000, limiter, None)) < 1000.1
    await refuse(limiter)
    assert limiter.eta(10**9) == pytest.approx(1, abs=0.1)
    assert await take(limiter) == pytest.approx(1001, abs=0.1)


@pytest.mark.parametrize("place", ["pause", "slot", "pace", "turn"])
async def test_a_cancelled_wait_takes_no_slot_and_leaves_nothing(place: str) -> None:
    busy = [1010.0] * (4 if place == "slot" else 2)
    limiter = Throttle(Rate(4, 60), busy_until=busy)
    if place == "pause":
        limiter.pause(10)
    if place == "pace":
        with await limiter.slot(None) as slot:
            slot.unsent()
    before = asyncio.all_tasks()
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
    assert (limiter.free, asyncio.all_tasks()) == (3, before)
    start = {"pause": 1010, "slot": 1010, "pace": 1015, "turn": 1000}[place]
    assert sent == pytest.approx([start], abs=0.1)


async def test_attempts_go_in_the_order_in_which_they_ask() -> None:
    limiter = Throttle(Rate(20, 60))
    waiting = [asyncio.create_task(take(limiter, None)) for _ in range(90)]
    await asyncio.sleep(10)
    for task in waiting[40:90:3]:
        task.cancel()
    limiter.pause(5)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    sent = [result for result in results if isinstance(result, float)]
    assert len(sent) == 90 - 17
    assert all(first < then for first, then in pairwise(sent))


async def test_a_slot_that_has_become_free_does_not_hide_how_long_the_next_one_is_held() -> None:
    now = asyncio.get_running_loop().time()
    throttle = Throttle(Rate(1, 60), busy_until=[now + 1, now + 50])
    await asyncio.sleep(2)
    assert throttle.next_slot == pytest.approx(48)


async def test_without_a_limit_pauses_double_up_to_a_minute_until_an_answer_comes() -> None:
    limiter, clock, sent = Throttle(None), asyncio.get_running_loop().time, list[float]()
    for _ in range(8):
        await refuse(limiter)
        sent.append(clock())
    sent.append(await take(limiter))
    await refuse(limiter)
    sent.append(await take(limiter))
    pauses = [later - earlier for earlier, later in pairwise(sent)]
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 1], abs=0.1)


async def test_refusals_of_one_moment_double_the_pause_once() -> None:
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
    assert [*sent, await take(limiter) - began] == pytest.approx([1, 2], abs=0.1)


@pytest.mark.parametrize(("retry_after", "until"), [(None, 60.0), (7.0, 7.0), (100.0, 100.0)])
async def test_a_refusal_lets_everybody_wait(retry_after: float | None, until: float) -> None:
    limiter = Throttle(Rate(100, 60))
    with await limiter.slot() as slot:
        waiting = [asyncio.create_task(take(limiter, None)) for _ in range(3)]
        await asyncio.sleep(0.1)
        slot.refused(retry_after)
    sent = list(await asyncio.gather(*waiting))
    assert min(sent) >= 1000.1 + until
    assert max(sent) < 1000.1 + until + 3


async def test_a_pause_reaches_those_who_wait_for_a_slot_and_never_ends_early() -> None:
    limiter = Throttle(Rate(2, 60), burst=True, busy_until=[1010.0, 1020.0])
    waiting = asyncio.create_task(together(2, limiter))
    await asyncio.sleep(5)
    limiter.pause(7)
    limiter.pause(1)
    await asyncio.sleep(6)
    limiter.pause(30)
    assert await waiting == pytest.approx([1041, 1041], abs=0.01)


async def test_refusals_of_one_moment_lower_the_slots_once() -> None:
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
    assert (once, limiter.slots) == (75, 56)


async def test_slots_come_back_slowly_and_no_further_than_the_rate() -> None:
    limiter = Throttle(AUTHENTICATED)
    await refuse(limiter)
    slots = [limiter.slots]
    await asyncio.sleep(60 + 1)
    for _ in range(15):
        slots.append(limiter.slots)
        await asyncio.sleep(60.06)
    assert slots == [75, *range(75, 100, 2), 100, 100]


async def test_fewer_slots_pace_more_slowly(caplog: pytest.LogCaptureFixture) -> None:
    limiter = Throttle(AUTHENTICATED)
    await refuse(limiter, 0.0)
    sent = await together(20, limiter, None)
    assert sent[-1] - sent[0] == pytest.approx(19 * 60 / 75, rel=0.01)
    assert "100/min" in caplog.text and "75" in caplog.text


async def test_a_pause_is_kept_by_the_next_process() -> None:
    limiter = Throttle(Rate(3, 60), burst=True, slots=2, paused_until=1040.0)
    assert limiter.pause_left == pytest.approx(40, abs=0.01)
    assert await together(3, limiter) == pytest.approx([1040, 1040, 1100.06], abs=0.01)


@pytest.mark.parametrize(
    ("paused_until", "slots"), [(1000.0, 75), (939.0, 77), (1000.0 - 12 * 60.06, 99), (0.0, 100)]
)
async def test_slots_given_up_come_back_while_no_process_runs(
    paused_until: float, slots: int
) -> None:
    limiter = Throttle(AUTHENTICATED, slots=75, paused_until=paused_until)
    now = limiter.slots
    await asyncio.sleep(60.06)
    assert (now, limiter.slots) == (slots, min(100, slots + 2))


async def test_a_lower_limit_than_what_was_learned_is_kept() -> None:
    assert Throttle(Rate(10, 60), slots=75, paused_until=1000.0).slots == 10


@pytest.mark.parametrize("calls", [1, 20, 150, 1500])
@pytest.mark.parametrize("burst", [False, True])
@pytest.mark.parametrize(("held", "paused"), [(0, 0.0), (90, 0.0), (0, 100.0)])
async def test_the_time_left_is_estimated_to_a_window(
    calls: int, burst: bool, held: int, paused: float
) -> None:
    clock = asyncio.get_running_loop().time
    busy = [clock() + 60 * (turn + 1) / held for turn in range(held)]
    limiter = Throttle(AUTHENTICATED, burst=burst, busy_until=busy)
    limiter.pause(paused)
    left, said = calls, [(clock(), limiter.eta(calls))]

    async def worker() -> None:
        nonlocal left
        while left:
            left -= 1
            await take(limiter, left + 1, 0.5)
            said.append((clock(), limiter.eta(left)))

    await asyncio.gather(*(worker() for _ in range(4)))
    for at, estimate in said:
        assert estimate == pytest.approx(clock() - at, abs=61)
    assert limiter.eta(0) == 0.0


async def test_slow_workers_set_the_time_left() -> None:
    limiter = Throttle(AUTHENTICATED)
    await take(limiter, seconds=10.0)
    assert limiter.eta(50) == pytest.approx(500)


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


@pytest.fixture(scope="module")
def hour() -> Play:
    """A little more than an hour at half a second from sending to response, on average."""
    return Play(replace(ORDINARY, calls=6100))


def test_an_hour_uses_the_limit_and_draws_no_refusal(hour: Play) -> None:
    server = SlidingWindow(AUTHENTICATED)
    assert all(server.admits(arrival) for arrival in hour.arrivals)
    start = hour.arrivals[0]
    assert sum(arrival < start + 3600 for arrival in hour.arrivals) >= 0.97 * 6000


def test_the_server_sees_an_even_stream(hour: Play) -> None:
    tenth_of_a_window = [
        last - first for first, last in zip(hour.arrivals, hour.arrivals[13:], strict=False)
    ]
    assert min(tenth_of_a_window) > 6.0


async def test_a_key_that_is_shared_is_shared_with_few_refusals() -> None:
    """Somebody else makes 40 calls a minute for two hours, then none for one."""
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
    shared = sum(at < 1000 + 7200 for at in ours)
    assert shared > 0.7 * 60 * 120
    assert len(refused) < 30
    assert limiter.slots == 100
