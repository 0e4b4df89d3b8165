"""The pool against a model server: any order of outcomes, prices, refusals and stops."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.answers import System
from pipeline.money import ZERO, plain, total
from pipeline.paid import pool as pool_module
from pipeline.paid.client.outcomes import Reply
from pipeline.paid.ledger.ledger import Counting, Ledger, LedgerJob
from pipeline.paid.ledger.schema import Call, text_digest
from pipeline.paid.limits import TYPICAL_HIGH, TYPICAL_LOW
from pipeline.paid.policy import FAILURES_IN_A_ROW
from pipeline.paid.pool import MOST_REFUSALS, TRIES
from pipeline.rate import Rate
from tests.paid.ledger.buying import new_job
from tests.paid.model_server import OUTCOMES, PRICE, STOP, ModelServer, buy, numbered, orders
from tests.paid.serving import some


@settings(max_examples=60)
@given(
    texts=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12),
    script=st.lists(st.sampled_from(OUTCOMES), max_size=40),
    stops=st.lists(st.floats(0, 60), max_size=4),
    workers=st.integers(1, 4),
    most=st.sampled_from([1, 2]),
)
def test_the_money_adds_up_and_no_received_answer_is_bought_again(
    texts: list[str], script: list[str], stops: list[float], workers: int, most: int
) -> None:
    with new_job() as (_, job):
        job.note_rows(("cpv", text_digest(text), row) for row, text in enumerate(texts))
        server = ModelServer(list(script))
        runs = 0
        for stop in [*stops, *[None] * 20]:
            wanted = list(orders(job, texts, most))
            if not wanted:
                break
            runs += 1
            buy(server, job, wanted, workers=workers, stop_after=stop)
        digests = [text_digest(text) for text in set(texts)]
        money = job.money()
        _, costs = job.responses_and_costs("cpv", digests)
        rows = total(cost.usd or ZERO for cost in costs.values())
        assert total([rows, job.unattributed()]) == money.confirmed == server.charged_and_told
        silent = (money.unconfirmed + money.unknown) * PRICE
        assert total([money.confirmed, silent]) == server.charged
        assert max(Counter(server.told).values(), default=0) <= 1
        lost = job.unconfirmed("cpv", digests)
        assert max(lost.values(), default=0) <= most
        limited = sum(what in ("limited", "wait for 5") for what in script)
        assert len(server.asked) <= runs * len(set(texts)) * (TRIES + most) + limited
        assert {call.text for call in server.told} | {
            text for text in texts if lost.get(text_digest(text), 0) >= most
        } == set(texts)


def test_an_error_of_one_worker_does_not_lose_the_answers_of_others(job: LedgerJob) -> None:
    def breaks() -> None:
        if len(server.asked) == 3:
            raise RuntimeError("a bug")

    server = ModelServer([], before=breaks)
    with pytest.raises(RuntimeError, match="a bug"):
        buy(server, job, numbered(9), workers=4)
    assert len(server.told) == 3
    assert job.money().confirmed == 3 * PRICE


A_ROW = FAILURES_IN_A_ROW
NOT_JSON = "the body is not JSON, or not all of it arrived"


@pytest.mark.parametrize(
    ("script", "calls", "asked", "said"),
    [
        # What is about single texts parks no run.
        (["refused"] * 40, 60, 60, ""),
        (["413"] * 60, 60, 60, ""),
        (["detailed", *["422"] * 59], 60, 60, ""),
        (["detailed", *["no such address"] * 59], 60, 60, ""),
        (["not sent"] * TRIES, 2, TRIES + 1, ""),
        ([*["limited"] * (MOST_REFUSALS - 1), "detailed"] * 2, 2, 2 * MOST_REFUSALS, ""),
        (["detailed", "price 0.01"], 3, 3, ""),
        # The base URL may be wrong, and the service another one, in its own form or not.
        (["no such address"] * 99, 99, A_ROW, "--base-url"),
        (["422"] * 99, 60, A_ROW, "--base-url"),
        (["detailed", *["400"] * 99], 60, 1 + A_ROW, "20 attempts in a row failed"),
        (["detailed", *["413", "gateway"] * 99], 99, 41, "20 attempts in a row failed: HTTP_502"),
        (["limited"] * 99, 3, MOST_REFUSALS, f"refused one call {MOST_REFUSALS} times since 2"),
        (["detailed", *["limited"] * 99], 3, 1 + MOST_REFUSALS, "--rate"),
        # A refusal of one text shows that the service works.
        (["detailed", *["unreadable"] * 19, "refused", *["unreadable"] * 99], 120, 41, NOT_JSON),
    ],
)
def test_a_run_parks_when_more_than_single_texts_fail(
    job: LedgerJob, script: list[str], calls: int, asked: int, said: str
) -> None:
    server = ModelServer(script)
    pool = buy(server, job, numbered(calls))
    assert len(server.asked) == asked
    assert (pool.parked is None) == (not said)
    assert pool.parked is None or said in f"{pool.parked.message} {pool.parked.hint}"
    assert pool.parked is None or pool.parked.exit_code == (7 if "limited" in script else 6)


def test_one_worker_asks_in_the_order_of_the_rows(job: LedgerJob) -> None:
    server = ModelServer(["503", "refused", "limited", "lost", "internal"])
    wanted = numbered(9)
    buy(server, job, wanted)
    assert list(dict.fromkeys(server.asked)) == [order.call for order in wanted]


def test_until_one_call_is_understood_they_go_one_at_a_time(job: LedgerJob) -> None:
    server = ModelServer(["internal", "refused", "refused", "detailed"])
    under_way: list[int] = []
    server.before = lambda: under_way.append(len(server.asked) - len(server.told))
    buy(server, job, numbered(12), workers=4)
    assert under_way[:4] == [0, 1, 1, 1]  # the one that failed stays untold
    assert max(under_way) > 2


def test_an_attempt_that_waits_for_its_slot_has_reserved_nothing_yet(job: LedgerJob) -> None:
    server = ModelServer([])
    buy(server, job, numbered(6), workers=3, rate=Rate(2, 60), max_cost=Decimal("0.00055"))
    assert len(server.asked) == 4


SEEN = st.decimals(min_value=Decimal("0.00001"), max_value=Decimal("0.005"), places=7)
FREE = st.sampled_from(["503", "not sent", "limited", "wait for 5", "internal"])


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
        with new_job() as (_, job):
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
        assert money.confirmed <= max_cost
        if max_cost == high * len(shares):
            assert pool.parked is None
        elif pool.parked:
            said = pool.parked.message.replace("the call left", "the 1 call left")
            spent, left, more = re.findall(r"[\d.]*\d", said)
            assert Decimal(spent) == money.confirmed
            assert Decimal(more) == int(left) * high
            assert Decimal(spent) + Decimal(more) > max_cost


def test_an_absurd_price_is_recorded_as_it_is_and_parks(job: LedgerJob) -> None:
    server = ModelServer(["detailed", "price 0.010000000000000001"])
    pool = buy(server, job, numbered(9), workers=3)
    assert some(pool.parked).exit_code == 5
    assert "0.010000000000000001 USD for one call" in some(pool.parked).message
    assert "0.01 USD" in some(pool.parked).message
    assert "--max-price" in some(pool.parked).hint
    assert job.money().confirmed == server.charged
    assert len(server.asked) < 9
    assert len(server.told) == len(server.asked)


def test_a_price_that_cannot_be_used_parks_and_is_unknown(job: LedgerJob) -> None:
    server = ModelServer(["detailed", "price -1"])
    pool = buy(server, job, numbered(9))
    assert some(pool.parked).exit_code == 5
    assert "finalCost is -1" in some(pool.parked).message
    assert len(server.asked) == 2
    assert (job.money().confirmed, job.money().unknown) == (PRICE, 1)


@settings(max_examples=30)
@example([Decimal("0.00015")] * 12, 6, Decimal("0.0005"))
@given(
    prices=st.lists(st.decimals(min_value=0, max_value=Decimal("0.009"), places=6), max_size=40),
    workers=st.integers(1, 16),
    max_cost=st.decimals(min_value=Decimal("0.0005"), max_value=Decimal("0.02"), places=4),
)
def test_an_overshoot_is_reported_and_no_more_than_the_excess_of_what_was_under_way(
    prices: list[Decimal], workers: int, max_cost: Decimal
) -> None:
    with new_job() as (_, job):
        server = ModelServer(["detailed", *(f"price {price}" for price in prices)])
        pool = buy(server, job, numbered(60), workers=workers, max_cost=max_cost)
        confirmed = job.money().confirmed
        over = max(Decimal(0), confirmed - max_cost)
        excess = [
            Decimal(cost) - Decimal(reserved)
            for cost, reserved in job.ledger.database.rows(
                "SELECT cost_usd, reserved_usd FROM attempts"
            )
            if Decimal(cost) > Decimal(reserved)
        ]
        # Those under way together are no more than the workers.
        assert over <= total(sorted(excess)[-workers:])
        assert confirmed == server.charged
        if pool.parked:
            said = f"{plain(over)} USD over --max-cost"
            assert (said in pool.parked.message) == (over > 0)


def test_a_stop_ends_a_long_pause_at_once(job: LedgerJob) -> None:
    server = ModelServer(["detailed", "wait for 9999"])
    pool = buy(server, job, numbered(5), stop_after=30)
    assert pool.parked == STOP
    assert len(server.asked) == 2
    assert server.ended_after < 31


def test_a_call_that_keeps_failing_is_left_to_the_next_run(job: LedgerJob) -> None:
    server = ModelServer(["detailed", *["503", "not sent"] * TRIES])
    first, failing, last = numbered(3)
    pool = buy(server, job, [first, failing])
    assert pool.parked is None
    assert [call.text for call in server.asked[1:]] == [failing.call.text] * TRIES
    server.script.clear()
    buy(server, job, [failing, last])
    assert server.told == [first.call, failing.call, last.call]


@pytest.mark.parametrize("workers", [1, 4])
def test_a_service_that_is_down_for_hours_parks_the_run(job: LedgerJob, workers: int) -> None:
    server = ModelServer(["detailed", *["503 for 9999"] * workers])
    pool = buy(server, job, numbered(9), workers=workers, longest_pause=3600.0)
    assert pool.parked and pool.parked.exit_code == 7
    assert "The service is down, and asked to wait until" in pool.parked.message
    assert "IGNORE_PAUSE" not in pool.parked.hint  # the next run sends at once anyway
    assert server.ended_after < 100
    server.script.clear()
    assert buy(server, job, numbered(9), longest_pause=3600.0).parked is None


@pytest.mark.parametrize("understood", [0, 1])
def test_a_service_that_nobody_reaches_at_the_end_parks_however_few_calls_are_left(
    job: LedgerJob, understood: int
) -> None:
    server = ModelServer(["detailed"] * understood + ["not sent"] * TRIES)
    pool = buy(server, job, numbered(understood + 1))
    assert (some(pool.parked).exit_code, some(pool.parked).message) == (
        6,
        f"{TRIES} attempts in a row failed: refused.",
    )
    again = buy(server, job, numbered(understood + 1)[understood:])
    assert again.parked is None
    assert len(server.told) == understood + 1


def test_a_service_that_says_to_wait_no_time_is_not_pressed(
    job: LedgerJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "FIRST_BACKOFF", 1.0)
    server = ModelServer(["detailed", *["wait for 0"] * 99])
    pool = buy(server, job, numbered(2))
    assert some(pool.parked).exit_code == 7
    asking = 0.1 * MOST_REFUSALS + 5 * MOST_REFUSALS
    assert server.ended_after > asking + 30


@pytest.mark.parametrize("down", ["503", "billed 503"])
@pytest.mark.parametrize("asked", [90, 9999])
def test_a_service_that_is_down_is_given_the_time_that_it_asks_for_even_if_it_charges(
    job: LedgerJob, down: str, asked: int
) -> None:
    server = ModelServer(["detailed", f"{down} for {asked}"])
    pool = buy(server, job, numbered(2), longest_pause=3600)
    assert (pool.parked is None) == (asked == 90)
    assert pool.parked is None or pool.parked.message.startswith("The service is down")
    assert (server.ended_after > 90) == (asked == 90)


@pytest.mark.parametrize(
    ("is_resumed", "retries_failed", "parks"),
    [(True, False, False), (False, False, True), (False, True, False)],
)
def test_a_base_url_that_answered_other_jobs_may_be_wrong_by_now_but_not_for_texts_that_failed(
    job: LedgerJob, is_resumed: bool, retries_failed: bool, parks: bool
) -> None:
    buy(ModelServer([]), job, numbered(1))
    if not is_resumed:
        job.close()
    server = ModelServer(["no such address"] * 99)
    with closing(Ledger(job.ledger.database.path, job.ledger.base_url)) as ledger:
        later = ledger.open_job("job", Counting(retry_failed=retries_failed))
        pool = buy(server, later, numbered(60)[1:], workers=4 if is_resumed else 1)
    assert len(server.asked) == (FAILURES_IN_A_ROW if parks else 59)
    assert (pool.parked is not None) == parks


def test_a_text_that_is_too_long_and_charged_costs_that(job: LedgerJob) -> None:
    (order,) = numbered(1)
    buy(ModelServer(["413 charged"]), job, [order])
    assert job.money().confirmed == Decimal("0.00005")
    assert job.errors("cpv", [order.call.digest]) == {order.call.digest: "HTTP_413"}


class Auditor(ModelServer):
    """Looks into the ledger's file, as another process would, at the moment of each request."""

    def __init__(self, path: Path, script: list[str]) -> None:
        super().__init__(script)
        self._path = path
        self.sent: Counter[Call] = Counter()
        self.unwritten: list[Call] = []

    async def send(self, system: System, text: str, candidates: object = ()) -> Reply:
        call = Call(system, text)
        self.sent[call] += 1
        with closing(sqlite3.connect(self._path)) as ledger:
            (written,) = ledger.execute(
                "SELECT count(*) FROM attempts WHERE system = ? AND digest = ?",
                (call.system, call.digest),
            ).fetchone()
        if written < self.sent[call]:
            self.unwritten.append(call)
        return await super().send(system, text)


FULL = 2
"""SQLite syncs its log at every commit; at 1 only now and then, at 0 never."""


def test_every_attempt_is_committed_and_synced_before_it_is_sent(job: LedgerJob) -> None:
    outcomes = ["detailed", "503", "lost", "limited", "not sent", "refused"]
    server = Auditor(job.ledger.database.path, outcomes)
    buy(server, job, numbered(60), workers=8)
    assert server.unwritten == []
    assert server.sent.total() == 60 + 4
    with job.ledger.database.transaction() as connection:
        asked = [connection.execute(f"PRAGMA {name}") for name in ("synchronous", "journal_mode")]
        assert [answer.fetchone()[0] for answer in asked] == [FULL, "wal"]
