"""The service that injects faults: what it strikes, what it leaves alone, and what it records."""

from __future__ import annotations

import http.client
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from email.utils import parsedate_to_datetime
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS, Match, System
from pipeline.errors import SettingsError
from pipeline.paid.client.outcomes import (
    Answered,
    RateLimited,
    Unreadable,
    WrongPrice,
)
from pipeline.paid.client.responses import read_response
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.chaos.faults import FORMS, Dice, Fault, Form, Script, read_script
from pipeline.service.chaos.record import Record, Served
from pipeline.service.chaos.server import (
    ABSURD_USD,
    DroppableConnections,
    FaultServer,
    Response,
    spoil,
)
from pipeline.service.http.messages import METADATA, Metadata, success
from pipeline.service.pricing import price
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

    def client(self) -> httpx.Client:
        headers = {"X-API-Key": self.key}
        return httpx.Client(base_url=self.address, headers=headers, timeout=None, trust_env=False)

    @contextmanager
    def connection(self) -> Iterator[http.client.HTTPConnection]:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=30)
        with closing(connection):
            yield connection

    def ask(self, connection: http.client.HTTPConnection) -> None:
        """Ask on a connection of the caller's, which does not hide what happens to it."""
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        connection.request("POST", "/api/cpv/match", b'{"description": "road"}', headers)

    def leave(self) -> None:
        """Ask, and leave before the answer."""
        with self.connection() as connection:
            self.ask(connection)

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


def test_requests_that_are_not_calls_are_not_struck(tmp_path: Path) -> None:
    with night(tmp_path, Fault("drop-before")) as server, server.client() as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/api/cpv/match").status_code == 405
        assert client.post("/api/cvp/match").status_code == 404
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


def struck(script: Script, requests: int, system: System = "cpv") -> list[str]:
    """Return what strikes so many requests, a second apart."""
    dice = Dice(script)
    faults = [dice.throw(system, float(second))[1] for second in range(requests)]
    return [fault.kind if fault else "" for fault in faults]


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "faults.toml"
    path.write_text(text, "utf-8", "surrogateescape")
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x =", "not TOML: Invalid value"),
        ("\udcff", "not TOML: "),
        ('seed = "a"', "seed: Expected `int`, got `str`"),
        ("[[fault]]", "fault 1: Object missing required field `kind`"),
        ('[[fault]]\nkind = "stahl"', "fault 1: Its kind must be one of latency, drop-before,"),
        ('[[fault]]\nkind = "cut"\n[[fault]]\nkind = "stall"', "fault 2: The kind stall needs sec"),
        ('[[fault]]\nkind = "cut"\nsecond = 1', "fault 1: Object contains unknown field `second`"),
        ('[[fault]]\nkind = "cut"\nseconds = 1', "fault 1: The kind cut has no setting seconds"),
        ('[[fault]]\nkind = "cut"\nprobability = 2', "fault 1 probability: Expected `float` <= 1"),
        ('[[fault]]\nkind = "cut"\nprobability = 1\nrequests = [1]', "fault 1: Give a probabil"),
        ('[[fault]]\nkind = "cut"\nrequests = [0]', "requests[0]: Expected `int` >= 1"),
        ('[[fault]]\nkind = "cut"\nafter = 9\nuntil = 9', "until must be later than after"),
        ('[[fault]]\nkind = "cut"\nsystems = ["cvp"]', "systems[0]: Invalid enum value 'cvp'"),
        ('[[fault]]\nkind = "gateway"\nstatus = 503', "503 means that nothing was done"),
        ('[[fault]]\nkind = "garbage"\nform = "blue"', "form: Invalid enum value 'blue'"),
    ],
)
def test_a_bad_file_is_refused_with_the_place_of_what_is_wrong(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(SettingsError) as refusal:
        read_script(written(tmp_path, text))
    assert said in refusal.value.message
    assert "rehearse-faults" in refusal.value.hint


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read_script(tmp_path / "faults.toml")


@given(seed=st.integers(), probability=st.floats(0, 1), requests=st.integers(0, 200))
def test_the_same_seed_strikes_the_same_places(
    seed: int, probability: float, requests: int
) -> None:
    script = Script(
        seed=seed,
        fault=(
            Fault("cut", probability=probability),
            Fault("drop-after", probability=probability, burst=2),
        ),
    )
    first = struck(script, requests)
    assert struck(script, requests) == first
    assert struck(script, requests + 50)[:requests] == first


def test_other_seeds_strike_other_places_as_often_as_they_should() -> None:
    fault = (Fault("cut", probability=0.3),)
    nights = [tuple(struck(Script(seed=seed, fault=fault), 2000)) for seed in range(5)]
    assert len(set(nights)) == 5
    assert all(480 < Counter(night)["cut"] < 720 for night in nights)


def test_places_count_the_requests_of_the_faults_systems() -> None:
    dice = Dice(Script(fault=(Fault("cut", requests=(2,), systems=("psc",)),)))
    asked: list[System] = ["cpv", "psc", "cpv", "psc", "psc"]
    assert [dice.throw(system, 0.0)[1] is not None for system in asked] == [
        False,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        # A burst strikes neighbours, and another that begins meanwhile ends later.
        ([Fault("cut", requests=(2, 3, 7), burst=3)], " cut cut cut cut  cut cut cut  "),
        ([Fault("cut", after=2, until=4)], "  cut cut  "),
        ([Fault("cut", requests=())], "   "),
        # Of two faults the first counts.
        (
            [Fault("cut", requests=(1, 2)), Fault("drop-before", requests=(2, 3, 4))],
            "cut cut drop-before drop-before ",
        ),
    ],
)
def test_a_fault_strikes_where_it_should(faults: list[Fault], expected: str) -> None:
    kinds = expected.split(" ")
    assert struck(Script(fault=tuple(faults)), len(kinds)) == kinds


def test_latencies_add_up_beside_another_fault() -> None:
    script = Script(
        seed=1,
        fault=(
            Fault("latency", seconds=1),
            Fault("latency", jitter=2),
            Fault("cut"),
            Fault("stall", seconds=1),
        ),
    )
    throws = [Dice(script).throw(system, 0.0) for system in SYSTEMS for _ in range(20)]
    assert {fault.kind for _, fault in throws if fault} == {"cut"}
    assert all(1 <= delay <= 3 for delay, _ in throws)
    assert Dice(Script()).throw("cpv", inf)[0] == 0


def test_a_fault_says_what_was_set() -> None:
    assert str(Fault("cut")) == "cut: every request"
    assert str(Fault("refuse", retry_after="date", requests=(2, 5))) == (
        "refuse: requests 2 5, retry-after date"
    )
