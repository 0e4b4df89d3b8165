"""The server on a real connection: proxies, what is no HTTP, what is too much or too slow."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from pipeline.errors import SettingsError
from pipeline.rate import Rate
from pipeline.service import Accounts, create_app, protocol, server
from pipeline.service.log_lines import JsonLines
from pipeline.service.protocol import MAX_HEAD
from tests.service.conftest import SCRIPTED, envelope

CANARY = "canary7f3a"

BODY = b'{"description": "road"}'

CALL = (
    b"POST /api/cpv/match HTTP/1.1\r\nHost: service\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n" % len(BODY)
)


@contextmanager
def serving(app: Any, host: str = "127.0.0.1", **options: Any) -> Iterator[tuple[str, int]]:
    """Run the server in a thread on a free port; give where it is."""
    running = server.Server(app, **options)
    with server.listening(host, 0) as listener:
        thread = threading.Thread(target=running.run, args=([listener],))
        thread.start()
        try:
            while not running.started and thread.is_alive():
                time.sleep(0.001)
            yield listener.getsockname()[:2]
        finally:
            running.should_exit = True
            thread.join()


@contextmanager
def connected(place: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(place, timeout=30) as connection:
        yield connection


def rest(connection: socket.socket) -> bytes:
    """Return everything until the server closes the connection."""
    with connection.makefile("rb") as received:
        return received.read()


def one(connection: socket.socket) -> bytes:
    """Return one response on a connection that is kept."""
    received = b""
    while not received.endswith(b"}"):
        received += connection.recv(65_536)
    return received


def parsed(received: bytes) -> tuple[int, dict[str, str], Any]:
    """Return status, headers and body of a response, which is the connection's last."""
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    assert int(headers["content-length"]) == len(body)
    return int(first.split()[1]), headers, json.loads(body)


def refusal(received: bytes) -> tuple[int, str]:
    """Return status and message of a failure with the interface's envelope."""
    status, headers, body = parsed(received)
    assert headers["content-type"] == "application/json"
    assert headers["connection"] == "close"
    assert list(body) == ["success", "error", "message"]
    assert body["success"] is False
    assert body["error"] == "VALIDATION_ERROR"
    return status, body["message"]


async def told(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that tells where it thinks that a request comes from."""
    body = json.dumps([scope["client"][0], scope["scheme"]]).encode()
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def seen(place: tuple[str, int], *headers: tuple[str, str]) -> list[str]:
    """Return the address and scheme that an application sees of a request."""
    host = f"[{place[0]}]" if ":" in place[0] else place[0]
    with httpx.Client(trust_env=False) as client:
        got: list[str] = client.get(f"http://{host}:{place[1]}", headers=list(headers)).json()
    return got


def test_nobody_is_trusted_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with serving(told) as place:
        assert seen(place, ("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-Proto", "https")) == [
            "127.0.0.1",
            "http",
        ]
    with serving(told, trusted_proxies=server.networks(["192.0.2.0/24"])) as place:
        assert seen(place, ("X-Forwarded-For", "192.0.2.7")) == ["127.0.0.1", "http"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], ["127.0.0.1", "http"]),
        ([("X-Forwarded-For", "198.51.100.4")], ["198.51.100.4", "http"]),
        ([("X-Forwarded-For", "2001:db8::4")], ["2001:db8::4", "http"]),
        ([("X-Forwarded-Proto", "https")], ["127.0.0.1", "https"]),
        ([("X-Forwarded-Proto", "gopher")], ["127.0.0.1", "http"]),
        # What the client sent itself stands before what the proxy saw.
        ([("X-Forwarded-For", "1.2.3.4, 198.51.100.4")], ["198.51.100.4", "http"]),
        (
            [("X-Forwarded-For", "1.2.3.4"), ("X-Forwarded-For", "198.51.100.4")],
            ["198.51.100.4", "http"],
        ),
        ([("X-Forwarded-For", "127.0.0.1, 198.51.100.4")], ["198.51.100.4", "http"]),
        ([("X-Forwarded-For", "gibberish,,198.51.100.4")], ["198.51.100.4", "http"]),
        # Two proxies, one behind the other.
        ([("X-Forwarded-For", "1.2.3.4, 198.51.100.4, 10.1.2.3")], ["198.51.100.4", "http"]),
        ([("X-Forwarded-For", "198.51.100.4, 10.1.2.3, 10.9.9.9")], ["198.51.100.4", "http"]),
        ([("X-Forwarded-For", "198.51.100.4, 10.1.2.3, 11.9.9.9")], ["11.9.9.9", "http"]),
    ],
)
def test_a_trusted_proxy_says_where_a_request_comes_from(
    headers: list[tuple[str, str]], expected: list[str]
) -> None:
    trusted = server.networks(["127.0.0.1, 10.0.0.0/8"])
    with serving(told, trusted_proxies=trusted) as place:
        assert seen(place, *headers) == expected


def test_an_ipv4_address_is_one_on_a_socket_for_both_kinds() -> None:
    with serving(told, host="::", trusted_proxies=server.networks(["127.0.0.1"])) as (_, port):
        assert seen(("127.0.0.1", port)) == ["127.0.0.1", "http"]
        assert seen(("127.0.0.1", port), ("X-Forwarded-For", "192.0.2.7"))[0] == "192.0.2.7"
        assert seen(("::1", port), ("X-Forwarded-For", "192.0.2.7"))[0] == "::1"


def test_behind_a_proxy_every_address_has_a_limit_of_its_own(accounts: Accounts) -> None:
    app = create_app(accounts, SCRIPTED, demo_rate=Rate(1, 3600))
    trusted = server.networks(["127.0.0.1"])
    chains = {
        "192.0.2.1": 200,
        "192.0.2.2": 200,
        "192.0.2.9, 192.0.2.1": 429,
        "2001:db8:1:2::1": 200,
        "2001:db8:1:2::2": 429,
        "2001:db8:1:3::1": 200,
        "a name": 200,
        "another name": 429,  # no address: all of those are one
    }
    with (
        serving(app, trusted_proxies=trusted) as (host, port),
        httpx.Client(base_url=f"http://{host}:{port}", trust_env=False) as client,
    ):
        for chain, status in chains.items():
            response = client.post(
                "/api/cpv/match",
                json={"description": "road"},
                headers={"X-Forwarded-For": chain},
            )
            assert response.status_code == status, chain


@pytest.mark.parametrize("name", ["*", "localhost", "10.0.0.1/8", "10.0.0", "10.0.0.0/33", "::1%"])
def test_a_proxy_that_is_no_address_is_refused(name: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        server.networks(["127.0.0.1", name])
    assert repr(name) in refusal.value.message
    assert "such as 10.0.0.7" in refusal.value.hint


@pytest.mark.parametrize(
    "sent",
    [
        b"BAD\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET / HTTP/9.9.9\r\nHost: service\r\n\r\n",
        b"GET  HTTP/1.1\r\nHost: service\r\n\r\n",
        b"GET /\xff\xfe?canary7f3a HTTP/1.1\r\nHost: service\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost service canary7f3a\r\n\r\n",
        b"GET / HTTP/1.1\r\nX-API Key: canary7f3a\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
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
    assert message == "This is not HTTP. Send a request as HTTP/1.1 has it."
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
    monkeypatch.setattr(protocol, "SLOWEST", 0.2)
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(sent)
        received = rest(connection)
    before, found, last = received.rpartition(b"HTTP/1.1 408 ")
    status, message = refusal(found + last)
    assert status == 408
    assert message.startswith("The request is too slow.")
    assert before.startswith(b"HTTP/1.1 200 ") == (sent.count(b"GET") == 2)


def test_a_connection_without_a_request_is_closed_and_one_after_a_request_is_kept(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "SLOWEST", 0.2)
    with (
        serving(create_app(accounts, SCRIPTED)) as place,
        connected(place) as silent,
        connected(place) as busy,
    ):
        busy.sendall(b"GET /health HTTP/1.1\r\nHost: service\r\n\r\n")
        assert one(busy).startswith(b"HTTP/1.1 200 ")
        assert rest(silent) == b""
        time.sleep(0.3)
        busy.sendall(b"GET /health HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n")
        assert rest(busy).startswith(b"HTTP/1.1 200 ")


def test_a_body_that_comes_in_pieces_is_waited_for(accounts: Accounts) -> None:
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        for piece in (CALL[:20], CALL[20:], b"Connection: close\r\n\r\n", BODY[:9], BODY[9:]):
            connection.sendall(piece)
            time.sleep(0.02)
        assert parsed(rest(connection))[0] == 200


def test_one_connection_too_many_is_told_to_come_again(accounts: Accounts) -> None:
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


@pytest.mark.parametrize("upgrade", ["h2c", "websocket"])
def test_an_offer_to_speak_something_else_is_not_taken(accounts: Accounts, upgrade: str) -> None:
    offer = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {upgrade}\r\n\r\n".encode()
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        for _ in range(2):
            connection.sendall(CALL + offer + BODY)
            assert one(connection).startswith(b"HTTP/1.1 200 ")


def test_what_nobody_waits_for_is_logged_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(KeyError(CANARY))
        del future
        await told(scope, receive, send)

    with serving(app) as place:
        seen(place)
    record = next(one for one in caplog.records if one.name == "pipeline.service")
    line = json.loads(JsonLines().format(record))
    assert line["message"] == "unnoticed: Future exception was never retrieved"
    assert line["traceback"].endswith("builtins.KeyError")
    assert CANARY not in JsonLines().format(record)


def test_the_envelope_is_that_of_the_application(accounts: Accounts) -> None:
    with serving(create_app(accounts, SCRIPTED)) as (host, port):
        response = httpx.get(f"http://{host}:{port}/unknown", trust_env=False)
    assert envelope(response) == (404, "VALIDATION_ERROR")
