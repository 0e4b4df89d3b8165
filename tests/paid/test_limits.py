"""The cost limits of a job, and of the days and months that all jobs with a key share."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.answers import System
from pipeline.money import ZERO
from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import Reply
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.totals import tally_of
from pipeline.paid.limits import TYPICAL_HIGH, Allowance, Budget
from pipeline.paid.policy import RunProgress
from pipeline.paid.pool import Pool
from pipeline.paid.purchase import EarlierRuns
from pipeline.paid.service import PaidService
from pipeline.purchases import Period
from tests.paid.client.virtual_time import START
from tests.paid.ledger.buying import BASE_URL, FINGERPRINT, Clock
from tests.paid.model_server import BILLED, PRICE, InlineLoop, ModelServer, numbered
from tests.paid.serving import Service, buyer

pytestmark = pytest.mark.anyio


async def test_an_attempt_reserves_the_highest_price_seen_or_the_typical_one() -> None:
    budget = Budget(ZERO, None, None)
    assert await budget.reserve() == TYPICAL_HIGH
    budget.charge(TYPICAL_HIGH, Decimal("0.0002"))
    assert await budget.reserve() == Decimal("0.0002")
    assert await Budget(ZERO, None, Decimal("0.5")).reserve() == Decimal("0.5")
    assert await Budget(ZERO, None, Decimal("0.00001")).reserve() == TYPICAL_HIGH


async def test_an_unknown_price_keeps_its_reservation() -> None:
    budget = Budget(ZERO, TYPICAL_HIGH * 3 / 2, None)
    reserved = await budget.reserve()
    assert reserved is not None
    budget.charge(reserved, None)
    assert budget.spent == reserved
    assert budget.highest == TYPICAL_HIGH
    assert await budget.reserve() is None


async def test_an_overrun_lets_nobody_through_until_everything_has_ended() -> None:
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


MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
DAY = 86_400.0
CENT = Decimal("0.01")


@pytest.mark.parametrize(
    ("period", "at", "began", "ends"),
    [
        ("day", "2026-03-01T00:00", "2026-03-01", "2026-03-02"),
        ("day", "2026-12-31T23:59", "2026-12-31", "2027-01-01"),
        ("month", "2026-03-31T23:59", "2026-03-01", "2026-04-01"),
        ("month", "2026-12-01T00:00", "2026-12-01", "2027-01-01"),
        ("month", "2028-02-29T12:00", "2028-02-01", "2028-03-01"),
    ],
)
def test_days_and_months_are_those_of_utc(period: Period, at: str, began: str, ends: str) -> None:
    now = datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
    allowance = Allowance(period, CENT, Clock(now))
    assert f"{allowance.began_at:%Y-%m-%d %H:%M}" == f"{began} 00:00"
    assert f"{allowance.ends_at:%Y-%m-%d %H:%M}" == f"{ends} 00:00"


def test_what_was_spent_while_the_clock_was_wrong_counts_and_what_was_spent_before() -> None:
    clock = Clock(MIDNIGHT)
    allowance = Allowance("day", 3 * CENT, clock)
    allowance.charge(CENT)
    clock.now += DAY
    assert allowance.left == 3 * CENT
    allowance.charge(ZERO, CENT)
    clock.now -= DAY
    assert allowance.left == CENT
    allowance.charge(CENT)
    clock.now += DAY
    assert allowance.left == CENT, "perhaps this is the right day, and the clock was behind"
    clock.now += DAY
    assert allowance.left == 3 * CENT


@dataclass
class DatedServer(ModelServer):
    """Notes what it charges, and when: at once for every second call, else with the answer."""

    charges: list[tuple[float, Decimal]] = field(default_factory=list)
    now: Callable[[], float] = field(default_factory=Clock)

    async def send(self, system: System, text: str, candidates: object = ()) -> Reply:
        what, at = self.script[0] if self.script else "detailed", self.now()
        at_once = len(self.asked) % 2 == 0
        price = Decimal(what.removeprefix("price ")) if what.startswith("price ") else PRICE
        try:
            return await super().send(system, text)
        finally:
            if what in BILLED or price is not PRICE:
                self.charges.append((at if at_once else self.now(), price))


class Killed(BaseException):
    """Ends a process in the middle of its requests."""


def run_job(
    ledger: Ledger, name: str, service: PaidService, server: DatedServer, kill_after: float | None
) -> Pool | None:
    """Buy twelve calls of one job; return None if it was killed."""
    pools: list[Pool] = []

    async def main() -> None:
        job = ledger.open_job(name)
        budget: Budget = EarlierRuns(ledger, service).budget(job)
        journal = Journal(job, FINGERPRINT)
        client = cast(Client, server)
        progress = RunProgress(throttle=Throttle(None), budget=budget, systems={"cpv"}, wait=True)
        pool = Pool(client, journal, progress, to_buy=12)
        pools.append(pool)
        work = asyncio.create_task(pool.run(iter(numbered(12)), 4))
        done, _ = await asyncio.wait([work], timeout=kill_after)
        if not done:
            raise Killed
        work.result()

    with suppress(Killed), asyncio.Runner(loop_factory=InlineLoop) as runner:
        base = ledger.now() - START
        loop = runner.get_loop()
        server.now = lambda: base + loop.time()
        ledger.now = server.now
        runner.run(main())
        ledger.now = Clock(server.now())
        return pools[0]
    ledger.now = Clock(server.now())
    return None


def attempts(ledger: Ledger) -> Iterator[tuple[float, Decimal]]:
    """Yield what each attempt cost, or may have cost, and when it was sent."""
    job = ledger.open_job("reading")
    query = "SELECT sent_at, state, cost_usd, reserved_usd, 1 FROM attempts"
    for at, state, cost, reserved, often in job.ledger.database.rows(query):
        tally = tally_of([(state, cost, reserved, often)])
        yield at, tally.confirmed + tally.at_risk


def by_day(amounts: Iterable[tuple[float, Decimal]]) -> dict[int, Decimal]:
    sums: dict[int, Decimal] = defaultdict(Decimal)
    for at, usd in amounts:
        sums[int(at // DAY)] += usd
    return sums


USUAL_PRICES = st.decimals(min_value=0, max_value=TYPICAL_HIGH, places=6).map(
    lambda usd: f"price {usd}"
)
SCRIPTS = st.lists(
    USUAL_PRICES | st.sampled_from(["lost", "silent", "503", "detailed"]), max_size=40
)


@settings(max_examples=6)
@example(["detailed"] * 12, [20.0, None], Decimal("0.0009"), 10.0)
@given(
    SCRIPTS,
    st.lists(st.none() | st.floats(0, 30), min_size=2, max_size=3),
    st.decimals(min_value=0, max_value=Decimal("0.003"), places=5),
    st.floats(0, 40),
)
def test_no_day_costs_more_than_its_limit_over_jobs_and_kills(
    script: list[str], kills: list[float | None], limit: Decimal, before_midnight: float
) -> None:
    service = PaidService(BASE_URL, "key", ledger="unused", max_cost_per_day=limit)
    clock: Callable[[], float] = Clock(MIDNIGHT - before_midnight)
    server = DatedServer(["price 0.0001", *script])
    with TemporaryDirectory() as folder:
        for number, kill_after in enumerate(kills):
            ledger = Ledger(Path(folder) / "ledger.db", BASE_URL, clock)
            ledger.recover(FINGERPRINT)
            pool = run_job(ledger, f"job {number}", service, server, kill_after)
            if pool and pool.parked and pool.parked.exit_code == 5:
                assert "--max-cost-per-day" in pool.parked.message
            clock = ledger.now
            sent = list(attempts(ledger))
            ledger.close()
        assert max(by_day(server.charges).values(), default=ZERO) <= limit
        assert max(by_day(sent).values(), default=ZERO) <= limit


def test_the_limit_is_used_up_and_the_next_day_goes_on(tmp_path: Path) -> None:
    service = PaidService(BASE_URL, "key", ledger="unused", max_cost_per_day="0.0004")
    server = DatedServer(["price 0.00012"] * 40)
    ledger = Ledger(tmp_path / "ledger.db", BASE_URL, Clock(MIDNIGHT + 60))
    for day, spent in ((0, "0.00036"), (0, "0.00036"), (1, "0.00072")):
        ledger.now = Clock(MIDNIGHT + day * DAY + 60 + len(server.asked))
        pool = run_job(ledger, f"job {len(server.asked)}", service, server, None)
        assert server.charged == Decimal(spent)
        assert pool and pool.parked and pool.parked.exit_code == 5
        ends = f"2026-03-0{2 + day} 00:00 UTC"
        assert "0.00036 USD of 0.0004 USD spent with this key" in pool.parked.message
        assert f"Run the same command after {ends}, or raise --max-cost-per-day" in pool.parked.hint
    ledger.now = Clock(MIDNIGHT - DAY)  # the clock was ahead until then
    pool = run_job(ledger, "job", service, server, None)
    assert pool and pool.parked
    later = "One call may cost 0.00015 USD, and 0.00072 USD with a later date count until then"
    assert pool.parked.hint == f"{later}: raise --max-cost-per-day."
    other = ledger.spent_since("another key", 0.0)
    assert other.attempts == 0
    ledger.close()


@pytest.mark.parametrize(
    ("per_day", "per_month", "script", "sent", "said"),
    [
        ("0.0005", None, ["price 0.0001", *["silent"] * 3], 3,
         "with up to 0.0003 USD more that may have been billed"),
        ("0.0005", None, ["price 0.0009"], 1,
         "0.0009 USD of 0.0005 USD, 0.0004 USD over --max-cost-per-day, spent with this key"),
        ("0.0002", "0.0002", [], 1, "The cost limit of this month is reached"),
        ("0.0002", "0.0002", [], 1, "after 2026-04-01 00:00 UTC"),
        ("0.0001", None, [], 0, " One call may cost 0.00015 USD: raise --max-cost-per-day."),
    ],
    ids=["may be billed", "overshoot", "the limit that lasts", "when it ends", "under one price"],
)  # fmt: skip
def test_a_run_says_which_limit_stops_it_and_for_how_long(
    tmp_path: Path, per_day: str, per_month: str | None, script: list[str], sent: int, said: str
) -> None:
    service = PaidService(
        BASE_URL, "key", "unused", max_cost_per_day=per_day, max_cost_per_month=per_month
    )
    with closing(Ledger(tmp_path / "ledger.db", BASE_URL, Clock(MIDNIGHT))) as ledger:
        pool = run_job(ledger, "job", service, server := DatedServer(script), None)
    assert len(server.asked) == sent
    assert pool and pool.parked
    assert said in f"{pool.parked.message} {pool.parked.hint}"


def test_two_jobs_at_once_share_the_limit(tmp_path: Path, service: Service, address: str) -> None:
    limit = Decimal("0.0009")
    terms = {"ledger": tmp_path / "ledger.db", "max_cost_per_day": limit, "wait": True}
    buyers = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        buyers.append(buyer(tmp_path / name, address, service.account.key, **terms))
        buyers[-1].write([f"{name} {number}" for number in range(10)])
    with ThreadPoolExecutor(2) as threads:
        summaries = list(threads.map(lambda buyer: buyer.run(), buyers))
    assert all(summary.parked and summary.parked.exit_code == 5 for summary in summaries)
    assert limit - TYPICAL_HIGH < service.charged <= limit
    assert buyers[0].plan().left == {"day": limit - service.charged}
