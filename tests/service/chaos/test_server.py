"""The service that injects faults: what it strikes, what it leaves alone, and what it records."""

from __future__ import annotations

import http.client
import json
import logging
import time
from decimal import Decimal
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal

import pytest

from pipeline.answers import Match
from pipeline.paid.client.outcomes import (
    Answered,
    RateLimited,
    Unreadable,
    WrongPrice,
)
from pipeline.paid.client.responses import read_response
from pipeline.rate import Rate
from pipeline.service.chaos.faults import FORMS, Fault, Form
from pipeline.service.chaos.server import ABSURD_USD, Response, spoil
from pipeline.service.http.messages import METADATA, Metadata, success
from pipeline.service.pricing import price
from tests.service.chaos.nights import ROAD, match, night


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


def test_what_the_service_refuses_itself_is_not_spoilt(tmp_path: Path) -> None:
    limited = night(tmp_path, Fault("drop-after", requests=(2,)), rate=Rate(1, 3600))
    with limited as server, server.client() as client:
        assert [match(client).status_code for _ in range(2)] == [200, 429]
        assert [(one.fault, one.status) for one in server.record()] == [(None, 200), (None, 429)]
        assert len(server.billed()) == 1


MATCHES = (Match("45233140", "Roadworks", 0.9), Match("45233000", "Roads", 0.4))
PRICE = price(MATCHES)


def made(form: Form, metadata: Metadata = "detailed") -> Response:
    return spoil(form, success("cpv", "road", MATCHES, PRICE, metadata))


@pytest.mark.parametrize("metadata", METADATA)
@pytest.mark.parametrize("form", FORMS)
def test_a_spoilt_answer_is_read_as_the_price_that_it_states_and_the_codes_that_it_has(
    form: Form, metadata: Metadata
) -> None:
    bad = made(form, metadata)
    assert bad.body != success("cpv", "road", MATCHES, PRICE, metadata)
    match read_response(200, {}, bad.body):
        case Answered(matches, cost):
            assert (matches[0].code, cost) == (MATCHES[0].code, bad.stated_usd)
        case Unreadable(_, cost):
            assert form in ("html", "huge", "truncated")
            assert cost == bad.stated_usd
        case WrongPrice(ended=Answered(matches, cost)):
            assert form in ("absurd-cost", "currency", "nan", "negative-cost")
            assert cost is bad.stated_usd is None
            assert matches[0].code == MATCHES[0].code
        case outcome:
            pytest.fail(f"{form} is read as {outcome}")


@pytest.mark.parametrize("retry_after", ["seconds", "date", "none"])
def test_a_refusal_says_when_to_retry_in_its_form(
    tmp_path: Path, retry_after: Literal["seconds", "date", "none"]
) -> None:
    with (
        night(tmp_path, Fault("refuse", retry_after=retry_after, seconds=7)) as server,
        server.client() as client,
    ):
        response = match(client)
        assert response.status_code == 429
        said = response.headers.get("Retry-After")
        outcome = read_response(429, response.headers, response.content)
        assert isinstance(outcome, RateLimited)
        if retry_after == "none":
            assert (said, outcome.wait) == (None, None)
        else:
            assert outcome.wait is not None
            assert 5 <= outcome.wait <= 8  # dates have whole seconds
            assert (said == "7") == (retry_after == "seconds")
            assert retry_after == "seconds" or parsedate_to_datetime(said or "")
        assert [one.fault for one in server.record()] == ["refuse"]
        assert server.billed() == []


def test_errors_have_the_envelope_or_not_and_cost_nothing(tmp_path: Path) -> None:
    faults = (
        Fault("error", requests=(1,)),
        Fault("error", status=503, envelope=False, requests=(2,)),
    )
    with night(tmp_path, *faults) as server, server.client() as client:
        with_envelope, without = match(client), match(client)
        assert (with_envelope.status_code, with_envelope.json()["error"]) == (500, "INTERNAL_ERROR")
        assert (without.status_code, without.headers["Content-Type"]) == (503, "text/html")
        assert [one.worked_at for one in server.record()] == [None, None]
        assert server.billed() == []


def test_a_gateways_error_hides_an_answer_that_is_billed(tmp_path: Path) -> None:
    faults = (Fault("gateway", requests=(1,)), Fault("gateway", status=504, requests=(2,)))
    with night(tmp_path, *faults) as server, server.client() as client:
        assert [match(client).status_code for _ in range(2)] == [502, 504]
        assert [(one.fault, one.stated_usd) for one in server.record()] == [("gateway", None)] * 2
        assert len(server.billed()) == 2


def test_garbage_is_billed_and_named(tmp_path: Path) -> None:
    absurd = Fault("garbage", form="absurd-cost", requests=(1,))
    with night(tmp_path, absurd, Fault("garbage")) as server, server.client() as client:
        prices = match(client).json()["metadata"]["costBreakdown"]
        assert prices["finalCost"] == prices["apiCost"] == prices["markupAmount"] == ABSURD_USD
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == ("garbage absurd-cost", None)
        assert sum(server.billed()) < Decimal("0.001")
        for _ in range(12):  # of any form
            match(client)
        assert len({one.fault for one in server.record()}) > 3
        assert len(server.billed()) == 13


@pytest.mark.parametrize("kind", ["drop-before", "drop-after"])
def test_a_drop_resets_the_connection_and_bills_only_after_the_work(
    tmp_path: Path, kind: str
) -> None:
    with night(tmp_path, Fault(kind)) as server:
        with server.connection() as connection, pytest.raises(ConnectionResetError):
            server.ask(connection)
            connection.getresponse()
        (served,) = server.record()
        assert (served.fault, served.status, served.stated_usd) == (kind, None, None)
        assert (served.worked_at is None) == (kind == "drop-before")
        assert server.billed() == ([] if kind == "drop-before" else [served.billed_usd])


def test_a_client_that_leaves_before_a_drop_causes_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faults = (
        Fault("latency", seconds=0.3),
        Fault("drop-before", requests=(1,)),
        Fault("cut", requests=(2,)),
    )
    with night(tmp_path, *faults) as server:
        for number in range(1, 3):
            server.leave()
            server.wait_for(lambda request: True, requests=number)  # in this order
        server.wait_for(lambda request: request.answered_at is not None, requests=2)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_cut_answer_is_billed_and_ends_in_the_middle(tmp_path: Path) -> None:
    with night(tmp_path, Fault("cut")) as server, server.connection() as connection:
        server.ask(connection)
        response = connection.getresponse()
        with pytest.raises(http.client.IncompleteRead) as broken:
            response.read()
        assert 0 < len(broken.value.partial) < int(response.headers["Content-Length"])
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == ("cut", None)
        assert server.billed() == [served.billed_usd]


def test_a_stalled_request_is_handled_although_nobody_waits_for_it(tmp_path: Path) -> None:
    with night(tmp_path, Fault("stall", seconds=0.4)) as server:
        server.leave()
        served = server.wait_for(lambda request: request.answered_at is not None)
        assert served.worked_at is not None
        # The clock of the event loop is up to some milliseconds behind the one of the record.
        assert served.worked_at - served.arrived_at > 0.3
        assert (served.fault, served.billed_usd) == ("stall", *server.billed())
