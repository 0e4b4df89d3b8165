"""The pool when the service refuses, is down, or asks for patience."""

from __future__ import annotations

import re
from contextlib import closing
from decimal import Decimal

import pytest

from pipeline.paid import pool as pool_module
from pipeline.paid.ledger.job import Counting, Job
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.pool import FAILURES_IN_A_ROW, MOST_REFUSALS, TRIES
from pipeline.rate import Rate
from tests.paid.model_server import STOP, ModelServer, buy, numbered
from tests.paid.purchases import some


def test_a_stop_ends_a_long_pause_at_once(job: Job) -> None:
    server = ModelServer(["detailed", "wait 9999"])
    pool = buy(server, job, numbered(5), stop_after=30)
    assert pool.parked == STOP
    assert len(server.asked) == 2
    assert server.ended_after < 31


def test_a_limit_that_is_not_waited_for_is_used_at_once(job: Job) -> None:
    server = ModelServer([])
    pool = buy(server, job, numbered(9), workers=3, rate=Rate(4, 3600), wait=False)
    assert some(pool.parked).exit_code == 7
    assert re.search(r"used up until [-0-9: ]{16} \((59|60) min\)", some(pool.parked).message)
    assert len(server.asked) == 4
    assert server.ended_after < 60


def test_a_call_that_keeps_failing_is_left_to_the_next_run(job: Job) -> None:
    server = ModelServer(["detailed", *["503", "not sent"] * TRIES])
    first, failing, last = numbered(3)
    pool = buy(server, job, [first, failing])
    assert pool.parked is None
    assert [call.text for call in server.asked[1:]] == [failing.call.text] * TRIES
    server.script.clear()
    buy(server, job, [failing, last])
    assert server.told == [first.call, failing.call, last.call]


def test_a_service_that_is_down_is_asked_again_when_it_says(job: Job) -> None:
    server = ModelServer(["503 for 90"])
    assert buy(server, job, numbered(1)).parked is None
    assert len(server.told) == 1
    assert 90 < server.ended_after < 100


@pytest.mark.parametrize("workers", [1, 4])
def test_a_service_that_is_down_for_hours_parks_the_run(job: Job, workers: int) -> None:
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
    job: Job, understood: int
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


def test_a_service_that_is_reached_again_does_not_park(job: Job) -> None:
    server = ModelServer(["not sent"] * TRIES + ["detailed"])
    assert buy(server, job, numbered(2)).parked is None


@pytest.mark.parametrize("understood", [0, 1])
def test_a_call_that_is_refused_without_end_parks(job: Job, understood: int) -> None:
    server = ModelServer(["detailed"] * understood + ["limited"] * 99)
    pool = buy(server, job, numbered(3), rate=Rate(100, 60))
    assert some(pool.parked).exit_code == 7
    assert f"refused one call {MOST_REFUSALS} times since 2" in some(pool.parked).message
    assert "--rate" in some(pool.parked).hint
    assert len(server.asked) == understood + MOST_REFUSALS
    assert server.ended_after > (MOST_REFUSALS - 1) * 60


def test_a_call_that_is_refused_less_often_is_answered(job: Job) -> None:
    server = ModelServer([*["limited"] * (MOST_REFUSALS - 1), "detailed"] * 2)
    pool = buy(server, job, numbered(2))
    assert pool.parked is None
    assert len(server.told) == 2


def test_a_service_that_says_to_wait_no_time_is_not_pressed(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "FIRST_BACKOFF", 1.0)
    server = ModelServer(["detailed", *["wait 0"] * 99])
    pool = buy(server, job, numbered(2))
    assert some(pool.parked).exit_code == 7
    asking = 0.1 * MOST_REFUSALS + 5 * MOST_REFUSALS
    assert server.ended_after > asking + 30


@pytest.mark.parametrize("asked", [90, 9999])
def test_a_service_that_charges_for_being_down_is_given_the_time_that_it_asks_for(
    job: Job, asked: int
) -> None:
    server = ModelServer(["detailed", f"billed 503 for {asked}"])
    pool = buy(server, job, numbered(2), longest_pause=3600)
    assert (pool.parked is None) == (asked == 90)
    assert pool.parked is None or pool.parked.message.startswith("The service is down")
    assert (server.ended_after > 90) == (asked == 90)


def test_what_a_refusal_taught_is_written_down(job: Job) -> None:
    server = ModelServer(["detailed", "wait 5"])
    buy(server, job, numbered(2), rate=Rate(100, 60))
    (lesson,) = job.database.rows("SELECT slots, paused_until - learned_at FROM lessons")
    assert lesson == (75, pytest.approx(5, abs=0.01))


def test_a_base_url_with_a_wrong_path_parks_although_the_service_answers_in_its_own_form(
    job: Job,
) -> None:
    server = ModelServer(["no such address"] * 99)
    pool = buy(server, job, numbered(99), workers=4)
    assert some(pool.parked).exit_code == 6
    assert "--base-url" in some(pool.parked).hint
    assert len(server.asked) == FAILURES_IN_A_ROW


def test_texts_that_an_understood_service_does_not_find_do_not_park(job: Job) -> None:
    server = ModelServer(["detailed", *["no such address"] * 99])
    assert buy(server, job, numbered(60)).parked is None
    assert len(server.asked) == 60


def test_texts_that_the_service_does_not_find_do_not_park_a_resumed_run(job: Job) -> None:
    buy(ModelServer([]), job, numbered(1))
    server = ModelServer(["no such address"] * 99)
    assert buy(server, job, numbered(60)[1:], workers=4).parked is None
    assert len(server.asked) == 59


@pytest.mark.parametrize(("retries_failed", "parks"), [(False, True), (True, False)])
def test_a_base_url_that_answered_other_jobs_may_be_wrong_by_now_but_not_for_texts_that_failed(
    job: Job, retries_failed: bool, parks: bool
) -> None:
    buy(ModelServer([]), job, numbered(1))
    job.close()
    server = ModelServer(["no such address"] * 99)
    with closing(Ledger(job.database.path, job.base_url)) as ledger:
        later = ledger.open_job("job", Counting(retry_failed=retries_failed))
        pool = buy(server, later, numbered(60)[1:])
    assert len(server.asked) == (FAILURES_IN_A_ROW if parks else 59)
    assert (pool.parked is not None) == parks


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        (["413"], 60),
        (["detailed", "422"], 60),
        (["422"], FAILURES_IN_A_ROW),  # the base URL of another service, perhaps
        (["detailed", "400"], 1 + FAILURES_IN_A_ROW),
    ],
)
def test_a_text_that_a_proxy_finds_too_long_ends_its_row_alone(
    job: Job, script: list[str], asked: int
) -> None:
    server = ModelServer([*script, *script[-1:] * 99])
    pool = buy(server, job, numbered(60))
    assert len(server.asked) == asked
    assert (pool.parked is None) == (asked == 60)


def test_texts_that_are_too_long_do_not_hide_that_the_service_is_down(job: Job) -> None:
    server = ModelServer(["detailed", *["413", "gateway"] * 99])
    pool = buy(server, job, numbered(99))
    assert some(pool.parked).exit_code == 6
    assert f"{FAILURES_IN_A_ROW} attempts in a row failed: HTTP_502" in some(pool.parked).message


def test_a_text_that_is_too_long_and_charged_costs_that(job: Job) -> None:
    (order,) = numbered(1)
    buy(ModelServer(["413 charged"]), job, [order])
    assert job.money().confirmed == Decimal("0.00005")
    assert job.errors("cpv", [order.call.digest]) == {order.call.digest: "HTTP_413"}


def test_texts_that_a_service_refuses_do_not_park_before_its_first_answer(job: Job) -> None:
    server = ModelServer(["refused"] * 40)
    assert buy(server, job, numbered(60)).parked is None
    assert len(server.asked) == 60
