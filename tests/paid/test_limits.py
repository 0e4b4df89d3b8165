"""The cost limit, with prices that are known only once they are charged."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.paid.limits import TYPICAL_HIGH, Budget
from tests.paid.client.virtual_time import run

ZERO = Decimal(0)
PRICES = st.decimals(min_value=0, max_value=Decimal("0.01"), places=6)


def cents(text: str) -> Decimal:
    return Decimal(text)


def test_an_attempt_reserves_the_highest_price_seen_or_the_typical_one() -> None:
    async def main() -> None:
        budget = Budget(ZERO, None, None)
        assert await budget.reserve() == TYPICAL_HIGH
        budget.charge(TYPICAL_HIGH, cents("0.0002"))
        assert await budget.reserve() == cents("0.0002")
        assert await Budget(ZERO, None, cents("0.5")).reserve() == cents("0.5")
        assert await Budget(ZERO, None, cents("0.00001")).reserve() == TYPICAL_HIGH

    run(main())


def test_without_room_and_nothing_under_way_there_is_none() -> None:
    async def main() -> None:
        budget = Budget(cents("0.9999"), cents("1"), None)
        assert budget.exhausted
        assert await budget.reserve() is None

    run(main())


def test_what_is_under_way_may_still_make_room() -> None:
    async def main() -> None:
        budget = Budget(ZERO, TYPICAL_HIGH, None)
        first = await budget.reserve()
        assert first is not None
        assert not budget.exhausted
        second = asyncio.create_task(budget.reserve())
        await asyncio.sleep(0)
        assert not second.done()
        budget.charge(first, ZERO)
        assert await second == first

    run(main())


def test_an_unknown_price_keeps_its_reservation() -> None:
    async def main() -> None:
        budget = Budget(ZERO, TYPICAL_HIGH * 3 / 2, None)
        reserved = await budget.reserve()
        assert reserved is not None
        budget.charge(reserved, None)
        assert budget.spent == reserved
        assert budget.highest == TYPICAL_HIGH
        assert await budget.reserve() is None

    run(main())


def test_an_overrun_lets_nobody_through_until_everything_has_ended() -> None:
    async def main() -> None:
        budget = Budget(ZERO, None, None)
        reserved = [await budget.reserve() for _ in range(3)]
        assert reserved[0] is not None
        budget.charge(reserved[0], reserved[0] * 2)
        fourth = asyncio.create_task(budget.reserve())
        for held in reserved[1:]:
            await asyncio.sleep(0)
            assert not fourth.done()
            assert held is not None
            budget.charge(held, ZERO)
        assert await fourth == reserved[0] * 2

    run(main())


@example([Decimal("0.00015")] * 12, 6, Decimal("0.0003"))
@given(
    st.lists(st.none() | PRICES, max_size=60),
    st.integers(1, 6),
    st.decimals(min_value=0, max_value=Decimal("0.05"), places=4),
)
def test_any_overshoot_is_at_most_the_excess_of_what_was_in_flight(
    prices: list[Decimal | None], workers: int, max_cost: Decimal
) -> None:
    paid: list[Decimal] = []
    kept: list[Decimal] = []
    excess = [ZERO]
    in_flight: dict[int, Decimal] = {}
    over: set[int] = set()

    async def work(budget: Budget, left: list[tuple[int, Decimal | None]]) -> None:
        while left:
            number, price = left.pop()
            reserved = await budget.reserve()
            if reserved is None:
                return
            assert not over & in_flight.keys(), "admitted while an overrun's company is under way"
            in_flight[number] = ZERO if price is None else max(ZERO, price - reserved)
            await asyncio.sleep(number * 7 % 5 + 1)
            if in_flight[number] and number not in over:  # the first of a company to be dearer
                excess.append(sum(in_flight.values(), ZERO))
                over.update(in_flight)
            in_flight.pop(number)
            if price is None:
                kept.append(reserved)
            else:
                paid.append(price)
            budget.charge(reserved, price)

    async def main() -> None:
        budget = Budget(ZERO, max_cost, None)
        left = list(enumerate(prices))
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work(budget, left))
        assert budget.confirmed == sum(paid, ZERO)
        assert budget.at_risk == sum(kept, ZERO)
        assert budget.spent == budget.confirmed + budget.at_risk
        assert budget.overshoot == max(ZERO, budget.confirmed - max_cost)
        assert budget.spent <= max_cost + max(excess)

    run(main())


def test_what_was_spent_before_counts_and_an_overshoot_is_of_confirmed_costs_alone() -> None:
    async def main() -> None:
        budget = Budget(cents("0.5"), cents("1"), None, at_risk=cents("0.6"))
        assert budget.exhausted
        assert (budget.spent, budget.overshoot) == (cents("1.1"), ZERO)
        assert Budget(cents("1.25"), cents("1"), None).overshoot == cents("0.25")
        assert Budget(cents("1.25"), None, None).overshoot == ZERO

    run(main())
