"""Faults of the answer: a refusal, an error, garbage, too much, or another place to ask."""

from __future__ import annotations

from decimal import Decimal
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal

import pytest

from pipeline.paid.client.outcomes import RateLimited
from pipeline.paid.client.responses import read_response
from pipeline.service.chaos.faults import Fault
from pipeline.service.chaos.server import ABSURD_USD, HUGE
from tests.service.chaos.nights import match, night


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
    with night(tmp_path, Fault("garbage", form="absurd-cost")) as server, server.client() as client:
        prices = match(client).json()["metadata"]["costBreakdown"]
        assert prices["finalCost"] == prices["apiCost"] == prices["markupAmount"] == ABSURD_USD
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == ("garbage absurd-cost", None)
        assert sum(server.billed()) < Decimal("0.001")


def test_any_garbage_is_of_many_forms(tmp_path: Path) -> None:
    with night(tmp_path, Fault("garbage")) as server, server.client() as client:
        for _ in range(12):
            match(client)
        assert len({one.fault for one in server.record()}) > 3
        assert len(server.billed()) == 12


def test_a_huge_answer_is_sent_as_far_as_it_is_read(tmp_path: Path) -> None:
    with night(tmp_path, Fault("garbage", form="huge")) as server, server.client() as client:
        with client.stream("POST", "/api/cpv/match", json={"description": "road"}) as response:
            assert int(response.headers["Content-Length"]) > HUGE
            next(response.iter_raw(100))
        with server.client() as another:
            assert len(match(another).content) > HUGE
        assert len(server.billed()) == 2


def test_a_redirect_names_another_host_and_bills_nothing(tmp_path: Path) -> None:
    redirect = Fault("redirect", to="https://elsewhere.example/")
    with night(tmp_path, redirect) as server, server.client() as client:
        response = match(client)
        assert response.status_code == 307
        assert response.headers["Location"] == "https://elsewhere.example/api/cpv/match"
        assert server.billed() == []
