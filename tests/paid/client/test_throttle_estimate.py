"""The throttle's estimate of the time that a job takes."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.paid.client.throttle import Throttle
from pipeline.rate import AUTHENTICATED, DEMO, Rate
from tests.paid.client.simulated_job import refuse, take
from tests.paid.client.virtual_time import run


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
