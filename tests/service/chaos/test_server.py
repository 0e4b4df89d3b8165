"""Each fault as a client meets it on a real connection, and what the record says of it."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from pipeline.paid.client.outcomes import RateLimited
from pipeline.paid.client.responses import read_response
from pipeline.rate import Rate
from pipeline.service import Accounts, create_app
from pipeline.service.chaos import (
    Cut,
    Drip,
    DropAfter,
    DropBefore,
    DroppableConnections,
    Error,
    Fault,
    FaultServer,
    Garbage,
    Gateway,
    IdleClose,
    Latency,
    Record,
    Redirect,
    Refuse,
    Script,
    Served,
    Stall,
)
from pipeline.service.chaos.garbage import ABSURD_USD, HUGE
from tests.paid.serving import serving
from tests.service.conftest import SCRIPTED

ROAD = sha256(b"road").digest()


@dataclass
class Night:
    """A service with faults that listens."""

    address: str
    accounts: Accounts
    folder: Path
    key: str

    def client(self, timeout: float = 30.0) -> httpx.Client:
        headers = {"X-API-Key": self.key}
        return httpx.Client(
            base_url=self.address, headers=headers, timeout=timeout, trust_env=False
        )

    @contextmanager
    def connection(self) -> Iterator[http.client.HTTPConnection]:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=30)
        with closing(connection):
            yield connection

    def ask(self, connection: http.client.HTTPConnection) -> http.client.HTTPResponse:
        """Ask on a connection of the caller's, which does not hide what happens to it."""
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        connection.request("POST", "/api/cpv/match", b'{"description": "road"}', headers)
        return connection.getresponse()

    def record(self) -> list[Served]:
        opened = Record(self.folder)
        try:
            return opened.requests()
        finally:
            opened.close()

    def wait_for(self, what: Callable[[Served], bool], requests: int = 1) -> Served:
        """Return the last of so many requests once something is true of each."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            record = self.record()
            if len(record) == requests and all(map(what, record)):
                return record[-1]
            time.sleep(0.005)
        raise AssertionError(record)

    def billed(self) -> list[Decimal]:
        """Return what was billed, after checking that the record and the accounts agree."""
        recorded = [one.billed_usd for one in self.record() if one.billed_usd is not None]
        charges = self.accounts.statement.charges()
        assert sorted(recorded) == sorted(charge.price_usd for charge in charges)
        holder = self.accounts.keys.holder(self.key)
        assert holder is not None
        left = self.accounts.balance(holder.account_id)
        assert Decimal("5.00") - left == sum(recorded)
        return recorded


@contextmanager
def night(folder: Path, *faults: Fault, rate: Rate | None = None) -> Iterator[Night]:
    accounts, record = Accounts(folder), Record(folder)
    app = create_app(accounts, SCRIPTED, key_rate=rate)
    try:
        server = FaultServer(app, Script(seed=1, fault=faults), record)
        with serving(server, DroppableConnections) as address:
            yield Night(address, accounts, folder, accounts.open().key)
    finally:
        record.close()
        accounts.close()


def match(client: httpx.Client, text: str = "road") -> httpx.Response:
    return client.post("/api/cpv/match", json={"description": text})


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


def test_what_is_no_call_is_not_struck(tmp_path: Path) -> None:
    with night(tmp_path, DropBefore()) as server, server.client() as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/api/cpv/match").status_code == 405
        assert client.post("/api/cvp/match").status_code == 404
        assert client.post("/api%2fcpv/match").status_code == 404
        assert server.record() == []


def test_a_call_without_a_text_stands_in_the_record(tmp_path: Path) -> None:
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


def test_a_drop_before_the_work_resets_the_connection_and_bills_nothing(tmp_path: Path) -> None:
    with night(tmp_path, DropBefore()) as server:
        with server.connection() as connection, pytest.raises(ConnectionResetError):
            server.ask(connection)
        (served,) = server.record()
        assert (served.fault, served.status, served.worked_at) == ("drop-before", None, None)
        assert server.billed() == []


def test_a_drop_after_the_work_resets_the_connection_and_bills(tmp_path: Path) -> None:
    with night(tmp_path, DropAfter()) as server:
        with server.connection() as connection, pytest.raises(ConnectionResetError):
            server.ask(connection)
        (served,) = server.record()
        assert (served.fault, served.status, served.stated_usd) == ("drop-after", None, None)
        assert server.billed() == [served.billed_usd]


def test_who_has_gone_before_a_drop_leaves_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faults = (Latency(seconds=0.3), DropBefore(requests=(1,)), Cut(requests=(2,)))
    with night(tmp_path, *faults) as server:
        for _ in range(2):
            with server.client(timeout=0.1) as client, pytest.raises(httpx.ReadTimeout):
                match(client)
        server.wait_for(lambda request: request.answered_at is not None, requests=2)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_a_cut_answer_is_billed_and_ends_in_the_middle(tmp_path: Path) -> None:
    with night(tmp_path, Cut()) as server, server.connection() as connection:
        response = server.ask(connection)
        with pytest.raises(http.client.IncompleteRead) as broken:
            response.read()
        assert 0 < len(broken.value.partial) < int(response.headers["Content-Length"])
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == ("cut", None)
        assert server.billed() == [served.billed_usd]


def test_a_stalled_request_is_worked_off_although_nobody_waits_for_it(tmp_path: Path) -> None:
    with night(tmp_path, Stall(seconds=0.4)) as server:
        with server.client(timeout=0.1) as client, pytest.raises(httpx.ReadTimeout):
            match(client)
        (waiting,) = server.record()
        assert waiting.worked_at is None
        served = server.wait_for(lambda request: request.answered_at is not None)
        assert served.worked_at is not None
        # The clock of the event loop is up to some milliseconds behind the one of the record.
        assert served.worked_at - served.arrived_at > 0.3
        assert (served.fault, served.billed_usd) == ("stall", *server.billed())


def test_who_waits_for_a_stalled_request_is_answered(tmp_path: Path) -> None:
    with night(tmp_path, Stall(seconds=0.1)) as server, server.client() as client:
        assert match(client).status_code == 200
        assert len(server.billed()) == 1


def test_a_dripping_answer_is_whole_for_who_has_the_patience(tmp_path: Path) -> None:
    with night(tmp_path, Drip(seconds=0.1)) as server, server.client() as client:
        assert match(client).json()["success"] is True
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == ("drip", *server.billed())


def test_a_dripping_answer_begins_and_goes_on_beyond_a_timeout(tmp_path: Path) -> None:
    with night(tmp_path, Drip(seconds=3)) as server, server.connection() as connection:
        response = server.ask(connection)
        assert response.status == 200
        assert response.read1(1) == b"{"
        connection.close()
        assert len(server.billed()) == 1


@pytest.mark.parametrize("retry_after", ["seconds", "date", "none"])
def test_a_refusal_says_when_to_come_back_in_its_way(tmp_path: Path, retry_after: str) -> None:
    refuse = Refuse.model_validate({"kind": "refuse", "retry-after": retry_after, "seconds": 7})
    with night(tmp_path, refuse) as server, server.client() as client:
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
    faults = (Error(requests=(1,)), Error(status=503, envelope=False, requests=(2,)))
    with night(tmp_path, *faults) as server, server.client() as client:
        with_envelope, without = match(client), match(client)
        assert (with_envelope.status_code, with_envelope.json()["error"]) == (500, "INTERNAL_ERROR")
        assert (without.status_code, without.headers["Content-Type"]) == (503, "text/html")
        assert [one.worked_at for one in server.record()] == [None, None]
        assert server.billed() == []


def test_a_gateways_error_hides_an_answer_that_is_billed(tmp_path: Path) -> None:
    faults = (Gateway(requests=(1,)), Gateway(status=504, requests=(2,)))
    with night(tmp_path, *faults) as server, server.client() as client:
        assert [match(client).status_code for _ in range(2)] == [502, 504]
        assert [(one.fault, one.stated_usd) for one in server.record()] == [("gateway", None)] * 2
        assert len(server.billed()) == 2


def test_garbage_is_billed_and_named(tmp_path: Path) -> None:
    with night(tmp_path, Garbage(form="absurd-cost")) as server, server.client() as client:
        prices = match(client).json()["metadata"]["costBreakdown"]
        assert prices["finalCost"] == prices["apiCost"] == prices["markupAmount"] == ABSURD_USD
        (served,) = server.record()
        assert (served.fault, served.stated_usd) == ("garbage absurd-cost", None)
        assert sum(server.billed()) < Decimal("0.001")


def test_any_garbage_is_of_many_forms(tmp_path: Path) -> None:
    with night(tmp_path, Garbage()) as server, server.client() as client:
        for _ in range(12):
            match(client)
        assert len({one.fault for one in server.record()}) > 3
        assert len(server.billed()) == 12


def test_a_huge_answer_is_sent_as_far_as_it_is_read(tmp_path: Path) -> None:
    with night(tmp_path, Garbage(form="huge")) as server, server.client() as client:
        with client.stream("POST", "/api/cpv/match", json={"description": "road"}) as response:
            assert int(response.headers["Content-Length"]) > HUGE
            next(response.iter_raw(100))
        with server.client() as another:
            assert len(match(another).content) > HUGE
        assert len(server.billed()) == 2


def test_a_redirect_names_another_host_and_bills_nothing(tmp_path: Path) -> None:
    redirect = Redirect(to="https://elsewhere.example/")
    with night(tmp_path, redirect) as server, server.client() as client:
        response = match(client)
        assert response.status_code == 307
        assert response.headers["Location"] == "https://elsewhere.example/api/cpv/match"
        assert server.billed() == []


def test_a_kept_connection_is_closed_behind_a_whole_answer(tmp_path: Path) -> None:
    with night(tmp_path, IdleClose()) as server, server.connection() as connection:
        response = server.ask(connection)
        assert response.headers["Connection"] is None
        assert response.read()
        served = server.wait_for(lambda request: request.closed_at is not None)
        assert (served.fault, served.stated_usd) == ("idle-close", *server.billed())
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            server.ask(connection)
        assert len(server.billed()) == 1


def test_a_connection_in_use_again_is_not_closed(tmp_path: Path) -> None:
    faults = (IdleClose(seconds=0.2, requests=(1,)), Stall(seconds=0.5, requests=(2,)))
    with night(tmp_path, *faults) as server, server.connection() as connection:
        for _ in range(3):
            assert server.ask(connection).read()
        assert [one.closed_at for one in server.record()] == [None, None, None]


def test_latency_comes_on_top_of_another_fault(tmp_path: Path) -> None:
    with night(tmp_path, Latency(seconds=0.05), Error()) as server, server.client() as client:
        assert match(client).status_code == 500
        (served,) = server.record()
        assert served.answered_at is not None
        assert served.answered_at - served.arrived_at > 0.03


def test_what_the_service_refuses_itself_is_not_spoilt(tmp_path: Path) -> None:
    limited = night(tmp_path, DropAfter(requests=(2,)), rate=Rate(1, 3600))
    with limited as server, server.client() as client:
        assert [match(client).status_code for _ in range(2)] == [200, 429]
        assert [(one.fault, one.status) for one in server.record()] == [(None, 200), (None, 429)]
        assert len(server.billed()) == 1


def test_many_at_once_are_each_charged_to_their_own_request(tmp_path: Path) -> None:
    texts = ["road", "chairs", "gibberish"] * 8
    with night(tmp_path, DropAfter(probability=0.3), Latency(jitter=0.02)) as server:
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


def test_another_protocol_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    accounts, record = Accounts(tmp_path), Record(tmp_path)
    app = FaultServer(create_app(accounts, SCRIPTED), Script(fault=(DropBefore(),)), record)
    with caplog.at_level(logging.ERROR), serving(app) as address:
        response = httpx.post(
            f"{address}/api/cpv/match", json={"description": "road"}, trust_env=False
        )
    assert response.status_code == 500
    assert "http=DroppableConnections" in caplog.text
    record.close()
    accounts.close()
