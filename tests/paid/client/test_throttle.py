"""Single attempts through the throttle: when one may go, and what is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest

from pipeline.paid.client.throttle import Slot, Throttle
from pipeline.rate import Rate
from tests.paid.client.single_attempts import refuse, take, together
from tests.paid.client.virtual_time import run


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


def test_a_slot_that_has_become_free_does_not_hide_how_long_the_next_one_is_held() -> None:
    async def main() -> float:
        now = asyncio.get_running_loop().time()
        throttle = Throttle(Rate(1, 60), busy_until=[now + 1, now + 50])
        await asyncio.sleep(2)
        return throttle.next_slot

    assert run(main()) == pytest.approx(48)
