"""The service that injects faults: what it strikes, what it leaves alone, and what it records."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from pipeline.answers import Match
from pipeline.paid.client.outcomes import Answered, Unreadable, WrongCurrency, WrongPrice
from pipeline.paid.client.responses import read_response
from pipeline.rate import Rate
from pipeline.service.chaos.faults import FORMS, Fault, Form
from pipeline.service.chaos.server import ABSURD_USD, HUGE, Response, spoil
from pipeline.service.http.messages import METADATA, Metadata, success
from pipeline.service.pricing import price
from tests.service.chaos.nights import ROAD, Night, match, night


def test_without_faults_the_answer_is_the_services_and_the_record_has_it(tmp_path: Path) -> None:
    before = time.time()
    with night(tmp_path) as server, server.client() as client:
        response = match(client)
        assert response.json()["data"][0]["code"] == "45233140"
        (served,) = server.record()
        (billed,) = server.billed()
        stated = json.loads(response.content, parse_float=Decimal)["metadata"]["costBreakdown"]
        assert billed == stated["finalCost"] == served.stated_usd == served.billed_usd
    assert (served.system, served.digest, served.fault, served.status) == ("cpv", ROAD, None, 200)
    assert served.worked_at is not None
    assert served.answered_at is not None
    assert before <= served.arrived_at <= served.worked_at <= served.answered_at <= time.time()


def test_the_record_is_there_before_the_answer(tmp_path: Path) -> None:
    with night(tmp_path) as server, server.client() as client:
        for place in range(20):
            match(client)
            (*_, last) = server.record()
            assert (last.number, last.status) == (place + 1, 200)


def test_requests_that_are_not_calls_are_not_struck(tmp_path: Path) -> None:
    with night(tmp_path, Fault("drop-before")) as server, server.client() as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/api/cpv/match").status_code == 405
        assert client.post("/api/cvp/match").status_code == 404
        assert client.post("/api%2fcpv/match").status_code == 404
        assert server.record() == []


def test_a_call_without_a_text_is_recorded(tmp_path: Path) -> None:
    with night(tmp_path) as server, server.client() as client:
        for body in (b"{}", b"[1]", b'{"description": 1}', b'{"description": "\\ud800"}', b"\xff"):
            response = client.post(
                "/api/cpv/match", content=body, headers={"Content-Type": "application/json"}
            )
            assert response.status_code == 400
        large = client.post(
            "/api/cpv/match",
            content=b" " * 3_000_000,
            headers={"Content-Type": "application/json"},
        )
        assert large.status_code == 413
        assert [(one.digest, one.status) for one in server.record()] == [(None, 400)] * 5 + [
            (None, 413)
        ]
        assert server.billed() == []


def test_latency_comes_on_top_of_another_fault(tmp_path: Path) -> None:
    with (
        night(tmp_path, Fault("latency", seconds=0.05), Fault("error")) as server,
        server.client() as client,
    ):
        assert match(client).status_code == 500
        (served,) = server.record()
        assert served.answered_at is not None
        assert served.answered_at - served.arrived_at > 0.03


def test_what_the_service_refuses_itself_is_not_spoilt(tmp_path: Path) -> None:
    limited = night(tmp_path, Fault("drop-after", requests=(2,)), rate=Rate(1, 3600))
    with limited as server, server.client() as client:
        assert [match(client).status_code for _ in range(2)] == [200, 429]
        assert [(one.fault, one.status) for one in server.record()] == [(None, 200), (None, 429)]
        assert len(server.billed()) == 1


def test_many_at_once_are_each_charged_to_their_own_request(tmp_path: Path) -> None:
    texts = ["road", "chairs", "gibberish"] * 8
    with night(
        tmp_path, Fault("drop-after", probability=0.3), Fault("latency", jitter=0.02)
    ) as server:
        threads = [threading.Thread(target=_ask_once, args=(server, text)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.billed()) == len(texts)
        prices = {(one.digest, one.billed_usd) for one in server.record()}
        assert len(prices) == 3  # a text has one price, whoever asks at the same time


def _ask_once(server: Night, text: str) -> None:
    with server.client() as client, suppress(httpx.ReadError):
        assert match(client, text).status_code == 200


MATCHES = (Match("45233140", "Roadworks", 0.9), Match("45233000", "Roads", 0.4))
PRICE = price(MATCHES)


def made(form: Form, metadata: Metadata = "detailed") -> Response:
    return spoil(form, success("cpv", "road", MATCHES, PRICE, metadata), PRICE.final)


@pytest.mark.parametrize("metadata", METADATA)
@pytest.mark.parametrize("form", FORMS)
def test_the_price_that_is_read_is_the_one_that_is_recorded_as_stated(
    form: Form, metadata: Metadata
) -> None:
    bad = made(form, metadata)
    stated_usd = bad.stated_usd
    outcome = read_response(200, {}, bad.body + b" " * bad.padding)
    match outcome:
        case Answered(_, cost) | Unreadable(_, cost):
            assert cost == stated_usd
        case WrongCurrency(currency, _):
            assert (form, currency, stated_usd) == ("currency", "EUR", None)
        case WrongPrice(ended=Answered(cost_usd=cost)):
            assert form in WRONG_PRICES
            assert cost is stated_usd is None
        case _:
            pytest.fail(f"{form} is read as {outcome}")


WRONG_PRICES = ("absurd-cost", "nan", "negative-cost")


@pytest.mark.parametrize("form", FORMS)
def test_what_can_be_read_has_the_best_code_of_the_good_answer(form: Form) -> None:
    bad = made(form)
    match read_response(200, {}, bad.body + b" " * bad.padding):
        case (
            Answered(matches, _)
            | WrongCurrency(ended=Answered(matches, _))
            | WrongPrice(ended=Answered(matches, _))
        ):
            assert matches[0].code == MATCHES[0].code
        case outcome:
            assert isinstance(outcome, Unreadable)
            assert form in ("empty", "html", "huge", "list", "truncated", "types")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_differs_from_the_good_answer(form: Form) -> None:
    bad = made(form)
    good = success("cpv", "road", MATCHES, PRICE, "detailed")
    assert bad.body + b" " * min(bad.padding, 1) != good


def test_an_answer_without_matches_can_be_spoilt_too() -> None:
    nothing = price(())
    body = success("cpv", "road", (), nothing, "compact")
    for form in FORMS:
        spoil(form, body, nothing.final)


def test_the_forms_are_what_their_names_say() -> None:
    assert b"NaN" in made("nan").body
    assert b"<html>" in made("html").body
    assert made("html").headers == {"Content-Type": "text/html"}
    assert made("huge").padding == HUGE == 50 * 1024 * 1024
    assert made("absurd-cost", "compact").stated_usd == ABSURD_USD
    assert made("absurd-cost").stated_usd is None
    assert b'"confidence":"0.9"' in made("text-confidence").body
    assert b'"finalCost":-0.0000' in made("negative-cost").body
    assert b'"finalCost":"0.0000' in made("text-costs").body
    assert made("duplicates").body.count(b'"45233140"') == 2
    assert b"metadata" not in made("no-metadata").body
    assert Decimal(0) < PRICE.final < ABSURD_USD
