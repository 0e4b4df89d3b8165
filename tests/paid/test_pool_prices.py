"""The pool keeps the cost limit, and parks at prices that cannot be right."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.money import plain, total
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.limits import TYPICAL_HIGH, TYPICAL_LOW
from pipeline.paid.pool import TRIES
from pipeline.rate import Rate
from tests.paid.ledger.buying import BASE_URL
from tests.paid.model_server import PRICE, ModelServer, buy, numbered
from tests.paid.purchases import some


def test_an_attempt_that_waits_for_its_slot_has_reserved_nothing_yet(job: Job) -> None:
    server = ModelServer([])
    buy(server, job, numbered(6), workers=3, rate=Rate(2, 60), max_cost=Decimal("0.00055"))
    assert len(server.asked) == 4


def test_the_cost_limit_says_what_is_left_to_pay(job: Job) -> None:
    server = ModelServer([])
    pool = buy(server, job, numbered(10), workers=4, max_cost=Decimal("0.0006"))
    assert some(pool.parked).exit_code == 5
    assert some(pool.parked).message == (
        "The cost limit is reached: 0.00052499999999999995 USD spent, and the 5 calls left "
        "cost up to 0.00075 USD."
    )
    assert "--max-cost (0.00127499999999999995 is enough at these prices)" in some(pool.parked).hint
    assert job.money().confirmed <= Decimal("0.0006")


SEEN = st.decimals(min_value=Decimal("0.00001"), max_value=Decimal("0.005"), places=7)
FREE = st.sampled_from(["503", "not sent", "limited", "wait 5", "internal"])


def reaches_the_service(troubles: list[tuple[int, str]]) -> bool:
    """Return whether too few attempts are not sent for the service to count as down."""
    return sum(trouble == "not sent" for _, trouble in troubles) < TRIES


@settings(max_examples=60)
@given(
    seen=st.none() | st.tuples(SEEN, SEEN).map(sorted),
    shares=st.lists(st.decimals(0, 1, places=3), min_size=1, max_size=12),
    troubles=st.lists(st.tuples(st.integers(0, 11), FREE), max_size=6).filter(reaches_the_service),
    workers=st.integers(1, 6),
    rate=st.sampled_from([None, Rate(2, 60)]),
)
def test_a_limit_at_the_plans_high_figure_completes_and_one_at_the_low_is_kept(
    seen: list[Decimal] | None,
    shares: list[Decimal],
    troubles: list[tuple[int, str]],
    workers: int,
    rate: Rate | None,
) -> None:
    """Prices are within the plan's range and no answer is lost; what fails for free fails."""
    low, high = (seen[0], max(seen[1], TYPICAL_HIGH)) if seen else (TYPICAL_LOW, TYPICAL_HIGH)
    script = [f"price {low + (high - low) * share}" for share in shares]
    prices = [Decimal(price.removeprefix("price ")) for price in script]
    for place, trouble in troubles:
        script.insert(min(place, len(script) - 1), trouble)
    for max_cost in (low * len(shares), sum(prices, Decimal(0)), high * len(shares)):
        with TemporaryDirectory() as folder:
            ledger = Ledger(Path(folder) / "ledger.db", BASE_URL)
            job = ledger.open_job("job")
            pool = buy(
                ModelServer(list(script)),
                job,
                numbered(len(shares)),
                workers=workers,
                rate=rate,
                max_cost=max_cost,
                highest=seen[1] if seen else None,
            )
            money = job.money()
            ledger.close()
        assert money.confirmed <= max_cost
        if max_cost == high * len(shares):
            assert pool.parked is None
        elif pool.parked:
            said = pool.parked.message.replace("the call left", "the 1 call left")
            spent, left, more = re.findall(r"[\d.]*\d", said)
            assert Decimal(spent) == money.confirmed
            assert Decimal(more) == int(left) * high
            assert Decimal(spent) + Decimal(more) > max_cost


def test_an_absurd_price_is_recorded_as_it_is_and_parks(job: Job) -> None:
    server = ModelServer(["detailed", "price 0.010000000000000001"])
    pool = buy(server, job, numbered(9), workers=3)
    assert some(pool.parked).exit_code == 5
    assert "0.010000000000000001 USD for one call" in some(pool.parked).message
    assert "0.01 USD" in some(pool.parked).message
    assert "--max-price" in some(pool.parked).hint
    assert job.money().confirmed == server.charged
    assert len(server.asked) < 9
    assert len(server.told) == len(server.asked)


def test_a_price_at_the_bound_is_right_and_the_bound_can_be_raised(job: Job) -> None:
    server = ModelServer(["detailed", "price 0.01"])
    assert buy(server, job, numbered(3)).parked is None
    server.script = ["price 5"]
    assert buy(server, job, numbered(4)[3:], max_price=Decimal(5)).parked is None


def test_a_price_that_cannot_be_used_parks_and_is_unknown(job: Job) -> None:
    server = ModelServer(["detailed", "price -1"])
    pool = buy(server, job, numbered(9))
    assert some(pool.parked).exit_code == 5
    assert "finalCost is -1" in some(pool.parked).message
    assert len(server.asked) == 2
    assert (job.money().confirmed, job.money().unknown) == (PRICE, 1)


@settings(max_examples=30)
@given(
    prices=st.lists(st.decimals(min_value=0, max_value=Decimal("0.009"), places=6), max_size=40),
    workers=st.integers(1, 16),
    max_cost=st.decimals(min_value=Decimal("0.0005"), max_value=Decimal("0.02"), places=4),
)
def test_an_overshoot_is_reported_and_no_more_than_the_excess_of_what_was_under_way(
    prices: list[Decimal], workers: int, max_cost: Decimal
) -> None:
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db", BASE_URL)
        job = ledger.open_job("job")
        server = ModelServer(["detailed", *(f"price {price}" for price in prices)])
        pool = buy(server, job, numbered(60), workers=workers, max_cost=max_cost)
        confirmed = job.money().confirmed
        over = max(Decimal(0), confirmed - max_cost)
        excess = [
            Decimal(cost) - Decimal(reserved)
            for cost, reserved in job.database.rows("SELECT cost_usd, reserved_usd FROM attempts")
            if Decimal(cost) > Decimal(reserved)
        ]
        # Those under way together are no more than the workers.
        assert over <= total(sorted(excess)[-workers:])
        assert confirmed == server.charged
        if pool.parked:
            said = f"{plain(over)} USD over --max-cost"
            assert (said in pool.parked.message) == (over > 0)
        ledger.close()


def test_a_jump_of_prices_overshoots_by_what_was_under_way_and_says_so(job: Job) -> None:
    jump = Decimal("0.005")
    server = ModelServer(["detailed"] * 20 + [f"price {jump}"] * 40)
    max_cost = Decimal("0.01")
    pool = buy(server, job, numbered(60), workers=16, max_cost=max_cost)
    assert some(pool.parked).exit_code == 5
    over = job.money().confirmed - max_cost
    assert over > 0
    assert f"{plain(over)} USD over --max-cost" in some(pool.parked).message
    assert len(server.asked) <= 20 + 16
