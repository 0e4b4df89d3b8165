"""Connections that are slow, kept, too many, or asked again before an answer."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import sys
import threading
from contextlib import ExitStack

import pytest
from starlette.types import Receive, Scope, Send

from pipeline.service import server
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.chaos.server import RESET_ON_CLOSE
from pipeline.service.http import protocol
from pipeline.service.http.outcomes import ServiceLines
from pipeline.service.http.protocol import BoundedHttp
from tests.service.conftest import SCRIPTED
from tests.service.sockets import (
    BODY,
    CALL,
    CHUNKED,
    HEALTH,
    connected,
    one,
    parsed,
    refusal,
    rest,
    serving,
    timed,
)

LENGTH = [(b"content-length", b"2")]


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
def test_a_request_that_comes_too_slowly_is_broken_off(accounts: Accounts, sent: bytes) -> None:
    answered = b""
    with timed(create_app(accounts, SCRIPTED)) as running, connected(running.place) as connection:
        connection.sendall(sent)
        running.wait_for(len(sent))
        if sent.count(b"GET") == 2:
            answered = one(connection)
        running.pass_time(protocol.SLOWEST - 1)
        running.pass_time(2)
        status, message = refusal(rest(connection))
    assert status == 408
    assert message.startswith("The request is too slow.")
    assert answered.startswith(b"HTTP/1.1 200 ") == (sent.count(b"GET") == 2)


def test_a_request_is_answered_once_even_if_its_rest_never_comes(accounts: Accounts) -> None:
    with timed(create_app(accounts, SCRIPTED)) as running, connected(running.place) as connection:
        connection.sendall(CALL + b"X-API-Key: tp_unknown\r\n\r\n" + BODY[:5])
        assert one(connection).startswith(b"HTTP/1.1 401 ")
        running.pass_time(protocol.SLOWEST + 1)
        assert rest(connection) == b""


def test_a_connection_without_a_request_is_closed_and_one_after_a_request_is_kept(
    accounts: Accounts,
) -> None:
    with (
        timed(create_app(accounts, SCRIPTED)) as running,
        connected(running.place) as silent,
        connected(running.place) as busy,
    ):
        busy.sendall(HEALTH)
        assert one(busy).startswith(b"HTTP/1.1 200 ")
        running.pass_time(protocol.SLOWEST + 1)
        assert rest(silent) == b""
        busy.sendall(b"GET /health HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n")
        assert rest(busy).startswith(b"HTTP/1.1 200 ")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a limit")
def test_a_connection_whose_responses_are_not_read_is_dropped(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "UNREAD_MS", 100)
    with serving(create_app(accounts, SCRIPTED)) as place, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(place)
        connection.settimeout(30)
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(b"GET /docs HTTP/1.1\r\nHost: service\r\n\r\n")


def test_one_connection_too_many_is_asked_to_retry_later(
    accounts: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with (
        serving(create_app(accounts, SCRIPTED), most_connections=2) as place,
        connected(place) as first,
        connected(place) as second,
    ):
        for connection in (first, second):
            connection.sendall(HEALTH)
            assert one(connection).startswith(b"HTTP/1.1 200 ")
        with connected(place) as third:
            third.sendall(CALL + b"\r\n" + BODY)
            status, headers, body = parsed(rest(third))
        assert (status, body["error"]) == (503, "INTERNAL_ERROR")
        assert headers["retry-after"] == "1"
        logged = [ServiceLines().format(record) for record in caplog.records]
        assert any('"status": 503, "address": "127.0.0.1"' in line for line in logged)
        assert len(accounts.statement.charges()) == 0


def test_connections_that_wait_for_their_refusal_are_bounded(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "MOST_REFUSED", 1)
    with timed(create_app(accounts, SCRIPTED), most_connections=1) as running, ExitStack() as stack:
        first, second, third = (stack.enter_context(connected(running.place)) for _ in range(3))
        assert rest(third) == b""
        second.sendall(HEALTH)
        assert parsed(rest(second))[0] == 503
        first.sendall(HEALTH)
        assert one(first).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("wrong", "statuses"),
    [
        (HEALTH + b"no HTTP\r\n", [200, 200, 400]),
        (CHUNKED + b"no chunk\r\n", [200, 400]),
        (3 * protocol.MOST_AHEAD * HEALTH, [200] * (1 + protocol.MOST_AHEAD) + [503]),
    ],
    ids=["a request", "its body", "how many there are"],
)
def test_what_is_wrong_is_answered_after_the_requests_before_it(
    accounts: Accounts, wrong: bytes, statuses: list[int]
) -> None:
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(CALL + b"\r\n" + BODY + wrong)
        received = rest(connection)
    assert [int(status) for status in re.findall(rb"HTTP/1.1 (\d+) ", received)] == statuses


def test_a_client_that_sends_no_more_gets_the_answers_to_what_it_sent(accounts: Accounts) -> None:
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(2 * (CALL + b"\r\n" + BODY) + b"no HTTP\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert rest(connection).count(b"HTTP/1.1 200 ") == 2


def test_a_client_that_leaves_is_not_waited_for_whatever_it_asked_next() -> None:
    begun, left = threading.Event(), threading.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    with serving(app) as place:
        with connected(place) as connection:
            connection.sendall(2 * HEALTH)
            assert begun.wait(30)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        assert left.wait(30)


def test_the_answer_to_a_request_under_way_at_the_end_says_that_no_other_follows() -> None:
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
