"""The throttle's estimate of the time that a job takes."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.paid.client.throttle import Throttle
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from tests.paid.client.simulated_job import refuse, take
from tests.paid.client.virtual_time import VIRTUAL

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> object:
    return VIRTUAL


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
async def test_the_estimate_is_what_it_takes(
    rate: Rate, calls: int, burst: bool, held: float, paused: float
) -> None:
    now, slots = asyncio.get_running_loop().time(), int(rate.slots * held)
    busy = [now + rate.window * (turn + 1) / slots for turn in range(slots)]
    limiter = Throttle(rate, burst=burst, busy_until=busy)
    limiter.pause(paused)
    for estimate, took in await estimates(limiter, calls, 4, 0.5):
        assert estimate == pytest.approx(took, rel=0.025, abs=8)


async def test_the_estimate_knows_slow_workers() -> None:
    said = await estimates(Throttle(AUTHENTICATED), 100, 2, 10.0)
    for estimate, took in said[10:-1]:
        assert estimate == pytest.approx(took, rel=0.025, abs=15)


async def test_the_estimate_knows_that_slots_were_given_up() -> None:
    busy = [1000.0 + turn for turn in range(1, 8)]
    limiter = Throttle(Rate(8, 60), burst=True, busy_until=busy)
    await refuse(limiter, 0.0)
    eta, sent = limiter.eta(1), await take(limiter)
    assert eta == pytest.approx(3, abs=0.01)
    assert sent == pytest.approx(1003, abs=0.01)


async def test_nothing_more_takes_no_time() -> None:
    limiter = Throttle(AUTHENTICATED)
    limiter.pause(10)
    assert limiter.eta(0) == 0.0
