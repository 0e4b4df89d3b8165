"""The pool against a model server, over any order of outcomes, stops and resumes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.money import ZERO, total
from pipeline.paid.calls_to_buy import CallToBuy
from pipeline.paid.ledger.calls import Call, text_digest
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.pool import TRIES
from tests.paid.ledger.buying import BASE_URL
from tests.paid.model_server import OUTCOMES, PRICE, ModelServer, buy, numbered, orders
from tests.paid.purchases import some


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
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db", BASE_URL)
        job = ledger.open_job("job")
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
        limited = sum(what in ("limited", "wait 5") for what in script)
        assert len(server.asked) <= runs * len(set(texts)) * (TRIES + most) + limited
        assert {call.text for call in server.told} | {
            text for text in texts if lost.get(text_digest(text), 0) >= most
        } == set(texts)
        ledger.close()


@pytest.mark.parametrize(("most", "sent"), [(1, 1), (2, 2)])
def test_a_lost_answer_is_asked_for_once_more_or_held(job: Job, most: int, sent: int) -> None:
    server = ModelServer(["detailed", "lost", "lost", "lost"])
    wanted = [CallToBuy(Call("cpv", "first"), most, 0), CallToBuy(Call("cpv", "lost"), most, 1)]
    assert buy(server, job, wanted).parked is None
    assert len(server.asked) == 1 + sent


def test_an_error_of_one_worker_does_not_lose_the_answers_of_others(job: Job) -> None:
    def breaks() -> None:
        if len(server.asked) == 3:
            raise RuntimeError("a bug")

    server = ModelServer([], before=breaks)
    with pytest.raises(RuntimeError, match="a bug"):
        buy(server, job, numbered(9), workers=4)
    assert len(server.told) == 3
    assert job.money().confirmed == 3 * PRICE


def test_one_worker_asks_in_the_order_of_the_rows(job: Job) -> None:
    server = ModelServer(["503", "refused", "limited", "lost", "internal"])
    wanted = numbered(9)
    buy(server, job, wanted)
    assert list(dict.fromkeys(server.asked)) == [order.call for order in wanted]


def test_until_one_call_is_understood_they_go_one_at_a_time(job: Job) -> None:
    server = ModelServer(["internal", "refused", "refused", "detailed"])
    under_way: list[int] = []
    server.before = lambda: under_way.append(len(server.asked) - len(server.told))
    buy(server, job, numbered(12), workers=4)
    assert under_way[:4] == [0, 1, 1, 1]  # the one that failed stays untold
    assert max(under_way) > 2


def test_a_first_answer_that_nobody_can_read_parks(job: Job) -> None:
    server = ModelServer(["unreadable"])
    pool = buy(server, job, numbered(5), workers=4)
    assert some(pool.parked).exit_code == 6
    assert len(server.asked) == 1


def test_answers_that_nobody_can_read_are_not_bought_without_end(job: Job) -> None:
    server = ModelServer(["detailed", *["unreadable"] * 19, "refused", *["unreadable"] * 99])
    pool = buy(server, job, list(orders(job, [str(n) for n in range(120)], 2)), workers=1)
    assert some(pool.parked).exit_code == 6
    assert some(pool.parked).message == (
        "20 attempts in a row failed: the body is not JSON, or not all of it arrived."
    )
    assert len(server.asked) == 41, "a refusal of one text shows that the service works"
