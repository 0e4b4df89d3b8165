"""What is no HTTP, or too much, or too slow, on real connections."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from pipeline.service import Accounts, create_app
from pipeline.service.http import protocol
from pipeline.service.http.json_logging import JsonLines
from pipeline.service.http.protocol import MAX_HEAD, BoundedHttp
from tests.service.conftest import SCRIPTED
from tests.service.sockets import BODY, CALL, connected, one, parsed, refusal, rest, serving

CANARY = "canary7f3a"

LENGTH = [(b"content-length", b"2")]


@pytest.mark.parametrize(
    "sent",
    [
        b"BAD\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET / HTTP/9.9.9\r\nHost: service\r\n\r\n",
        b"GET  HTTP/1.1\r\nHost: service\r\n\r\n",
        b"GET /\xff\xfe?canary7f3a HTTP/1.1\r\nHost: service\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",  # no Host
        b"GET / HTTP/1.1\r\nHost: service\r\nHost service canary7f3a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: service\r\nX-API Key: canary7f3a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: service\r\nContent-Length: 1, 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: service\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: service\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: service\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        # What is a body to a proxy that believes the first would be another request here.
        CALL
        + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_is_no_http_gets_the_envelope(
    accounts: Accounts, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(sent)
        status, message = refusal(rest(connection))
    assert status == 400
    assert message == "This is not HTTP. Send an HTTP/1.1 request."
    logged = [JsonLines().format(record) for record in caplog.records]
    assert any('"status": 400, "address": "127.0.0.1"' in line for line in logged)
    assert not [line for line in logged if CANARY in line]


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (b"canary7f3a /api/cpv/match HTTP/1.1", 405),
        (b"CONNECT canary7f3a:443 HTTP/1.1", 404),
        (b"GET http://[canary7f3a HTTP/1.1", 404),
        (b"OPTIONS * HTTP/1.1", 404),
        (b"GET /%00%ff%canary7f3a HTTP/1.1", 404),
        (b"GET /api/cpv/match HTTP/1.0", 405),
    ],
)
def test_what_is_http_but_nothing_that_there_is_gets_the_envelope_too(
    accounts: Accounts, first: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(first + b"\r\nHost: service\r\nConnection: close\r\n\r\n")
        assert refusal(rest(connection))[0] == status
    logged = [JsonLines().format(record) for record in caplog.records]
    assert any('"message": "request"' in line for line in logged)
    assert not [line for line in logged if CANARY in line]


@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        (b"GET / HTTP/1.1\r\n", b"X-Much: " + b"x" * 1000 + b"\r\n"),
        (b"GET / HTTP/1.1\r\nX-Long: ", b"x" * 1000),
        (b"GET /", b"x" * 1000),
        (
            CALL.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n1;",
            b"x" * 1000,
        ),
        (
            CALL.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
            b"X-Trailer: " + b"x" * 1000 + b"\r\n",
        ),
    ],
    ids=["fields", "a field", "a path", "a chunk's extension", "trailers"],
)
def test_a_head_is_read_no_further_than_its_bound(
    accounts: Accounts, start: bytes, repeated: bytes
) -> None:
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(start)
        received = b""
        for _ in range(10 * MAX_HEAD // len(repeated)):
            connection.settimeout(0.01)
            try:
                received = connection.recv(65_536)
                break
            except TimeoutError:
                connection.settimeout(30)
                connection.sendall(repeated)
    status, message = refusal(received)
    assert status == 431
    assert "65,536 bytes at most" in message


def test_a_large_head_within_the_bound_is_taken(accounts: Accounts) -> None:
    with serving(create_app(accounts, SCRIPTED)) as (host, port):
        headers = {f"X-{number}": "x" * 1000 for number in range(60)}
        response = httpx.get(f"http://{host}:{port}/health", headers=headers, trust_env=False)
    assert response.status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /hea",
        b"GET /health HTTP/1.1\r\nHost: serv",
        CALL + b"\r\n" + BODY[:5],
        b"GET /health HTTP/1.1\r\nHost: service\r\n\r\nGET /hea",
    ],
    ids=["a path", "a field", "a body", "the second request"],
)
def test_a_request_that_comes_too_slowly_is_broken_off(
    accounts: Accounts, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "SLOWEST", 0.5)
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(sent)
        received = rest(connection)
    before, found, last = received.rpartition(b"HTTP/1.1 408 ")
    status, message = refusal(found + last)
    assert status == 408
    assert message.startswith("The request is too slow.")
    assert before.startswith(b"HTTP/1.1 200 ") == (sent.count(b"GET") == 2)


def test_a_request_is_answered_once_even_if_its_rest_never_comes(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "SLOWEST", 0.5)
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(CALL + b"X-API-Key: tp_unknown\r\n\r\n" + BODY[:5])
        received = rest(connection)
    assert received.startswith(b"HTTP/1.1 401 ")
    assert received.count(b"HTTP/1.1 ") == 1


def test_a_connection_without_a_request_is_closed_and_one_after_a_request_is_kept(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "SLOWEST", 0.5)
    with (
        serving(create_app(accounts, SCRIPTED)) as place,
        connected(place) as silent,
        connected(place) as busy,
    ):
        busy.sendall(b"GET /health HTTP/1.1\r\nHost: service\r\n\r\n")
        assert one(busy).startswith(b"HTTP/1.1 200 ")
        assert rest(silent) == b""
        time.sleep(0.6)
        busy.sendall(b"GET /health HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n")
        assert rest(busy).startswith(b"HTTP/1.1 200 ")


def test_a_body_that_comes_in_pieces_is_waited_for(accounts: Accounts) -> None:
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        for piece in (CALL[:20], CALL[20:], b"Connection: close\r\n\r\n", BODY[:9], BODY[9:]):
            connection.sendall(piece)
            time.sleep(0.02)
        assert parsed(rest(connection))[0] == 200


def test_one_connection_too_many_is_told_to_come_again(
    accounts: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with (
        serving(create_app(accounts, SCRIPTED), most_connections=2) as place,
        connected(place) as first,
        connected(place) as second,
    ):
        for connection in (first, second):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: service\r\n\r\n")
            assert one(connection).startswith(b"HTTP/1.1 200 ")
        with connected(place) as third:
            third.sendall(CALL + b"\r\n" + BODY)
            status, headers, body = parsed(rest(third))
        assert (status, body["error"]) == (503, "INTERNAL_ERROR")
        assert headers["retry-after"] == "1"
        logged = [JsonLines().format(record) for record in caplog.records]
        assert any('"status": 503, "address": "127.0.0.1"' in line for line in logged)
        first.close()
        # The server needs a moment to see that the first one has gone.
        for _ in range(1000):
            with connected(place) as fourth:
                fourth.sendall(CALL + b"Connection: close\r\n\r\n" + BODY)
                status = parsed(rest(fourth))[0]
            if status == 200:
                break
        assert status == 200
        assert len(accounts.statement.charges()) == 0


def test_requests_sent_without_waiting_are_answered_in_order(accounts: Accounts) -> None:
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        call = CALL + b"\r\n" + BODY
        connection.sendall(call + b"GET /no HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n")
        received = rest(connection)
    assert received.startswith(b"HTTP/1.1 200 ")
    assert received.count(b"HTTP/1.1 404 ") == 1


def test_a_request_that_arrives_before_the_last_answer_is_answered_after_it() -> None:
    begun, arrived = threading.Event(), threading.Event()
    order: list[str] = []

    class Noticing(BoundedHttp):
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if b"/second" in data:
                arrived.set()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        order.append(scope["path"])
        begun.set()
        while not arrived.is_set():
            await asyncio.sleep(0.001)
        await send({"type": "http.response.start", "status": 200, "headers": LENGTH})
        order.append("answered")
        await send({"type": "http.response.body", "body": b"{}"})

    with serving(slow, protocol=Noticing) as place, connected(place) as connection:
        connection.sendall(b"GET /first HTTP/1.1\r\nHost: service\r\n\r\n")
        assert begun.wait(30)
        connection.sendall(b"GET /second HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n")
        received = rest(connection)
    assert received.count(b"HTTP/1.1 200 ") == 2
    assert order == ["/first", "answered", "/second", "answered"]


def test_a_request_under_way_at_the_end_is_told_that_no_other_will_be_answered() -> None:
    begun, ending = threading.Event(), threading.Event()

    class Ending(BoundedHttp):
        def shutdown(self) -> None:
            super().shutdown()
            ending.set()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        while not ending.is_set():
            await asyncio.sleep(0.001)
        await send({"type": "http.response.start", "status": 200, "headers": LENGTH})
        await send({"type": "http.response.body", "body": b"{}"})

    with socket.socket() as connection:
        connection.settimeout(30)
        with serving(slow, protocol=Ending) as place:
            connection.connect(place)
            connection.sendall(CALL + b"\r\n" + BODY)
            assert begun.wait(30)
        status, headers, _ = parsed(rest(connection))
    assert (status, headers["connection"]) == (200, "close")


@pytest.mark.parametrize("upgrade", ["h2c", "websocket"])
def test_an_offer_to_speak_something_else_is_not_taken(accounts: Accounts, upgrade: str) -> None:
    offer = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {upgrade}\r\n\r\n".encode()
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        for _ in range(2):
            connection.sendall(CALL + offer + BODY)
            assert one(connection).startswith(b"HTTP/1.1 200 ")


WELL_FORMED = [
    CALL + b"\r\n" + BODY,
    CALL.partition(b"Content-Length")[0]
    + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"GET /dashboard?x=%ff HTTP/1.0\r\nHost: service\r\nCookie: session=1\r\n\r\n",
    b"POST /login HTTP/1.1\r\nHost: service\r\nContent-Length: 9\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n\r\nemail=a@b",
]

PIECES = [
    *(
        b"\r\n",
        b"\n",
        b"\0",
        b" ",
        b":",
        b"\xff",
        b"%",
        b"?",
        b"HTTP/1.1",
        b"Connection: close\r\n",
    ),
    *(b"Content-Length: 99999999999999999999\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(b"Expect: 100-continue\r\n", b"Connection: upgrade\r\nUpgrade: websocket\r\n"),
    *(b"Content-Type: multipart/form-data\r\n", b"X-Forwarded-For: ,\r\n", b"Host: \xff\r\n"),
]


@st.composite
def almost_http(draw: st.DrawFn) -> bytes:
    """Requests with something put in, left out or written twice."""
    sent = b"".join(draw(st.lists(st.sampled_from(WELL_FORMED), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(sent)))
        until = draw(st.integers(at, min(len(sent), at + 30)))
        new = draw(st.sampled_from([b"", 2 * sent[at:until], *PIECES]) | st.binary(max_size=9))
        sent = sent[:at] + new + sent[until:]
    return sent


@pytest.fixture(scope="module")
def anybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """A service without limits, for many examples."""
    opened = Accounts(tmp_path_factory.mktemp("anybody"))
    with serving(create_app(opened, SCRIPTED, demo_rate=None)) as place:
        yield place
    opened.close()


@given(almost_http())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_sent_the_service_does_not_fail(
    anybody: tuple[str, int], caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    with connected(anybody) as connection, suppress(OSError):  # a reset is an answer, too
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        received = rest(connection)
        assert b"HTTP/1.1 5" not in received
        assert received[:9] in (b"", b"HTTP/1.1 ")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
