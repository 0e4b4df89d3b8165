"""What is no HTTP, or too much of it, on real connections."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.http.outcomes import ServiceLines
from pipeline.service.http.protocol import MAX_HEAD
from pipeline.service.server import IDLE
from tests.service.conftest import SCRIPTED
from tests.service.sockets import (
    BODY,
    CALL,
    CHUNKED,
    HEALTH,
    connected,
    one,
    refusal,
    rest,
    serving,
    timed,
)

WELL_FORMED = [
    CALL + b"\r\n" + BODY,
    CHUNKED + b"2\r\n{}\r\n0\r\n\r\n",
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


CANARY = "canary7f3a"

USUAL = CALL + b"\r\n" + BODY


@pytest.mark.parametrize(
    "sent",
    [
        b"BAD\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET / HTTP/9.9.9\r\nHost: service\r\n\r\n",
        b"canary7f3a /api/cpv/match HTTP/1.1\r\nHost: service\r\n\r\n",
        b"CONNECT canary7f3a:443 HTTP/1.1\r\nHost: canary7f3a:443\r\n\r\n",
        b"GET  HTTP/1.1\r\nHost: service\r\n\r\n",
        b"GET http://[canary7f3a HTTP/1.1\r\nHost: service\r\n\r\n",
        b"GET /\xff\xfe?canary7f3a HTTP/1.1\r\nHost: service\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: service\r\nHost service canary7f3a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: service\r\nX-API Key: canary7f3a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: service\r\nContent-Length: 1, 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: service\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: service\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        # Some readers take any two bytes for the end of a chunk.
        b"POST / HTTP/1.1\r\nHost: service\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na__0\r\n\r\n",
        # What is a body to a proxy that believes the first would be another request here.
        CALL
        + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_the_envelope(
    accounts: Accounts, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(sent)
        status, message = refusal(rest(connection))
    assert status == 400
    assert message == "This is not HTTP. Send an HTTP/1.1 request."
    logged = [ServiceLines().format(record) for record in caplog.records]
    assert any('"status": 400, "address": "127.0.0.1"' in line for line in logged)
    assert not [line for line in logged if CANARY in line]


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (b"UNLOCK /api/cpv/match HTTP/1.1", 405),
        (b"OPTIONS * HTTP/1.1", 404),
        (b"GET /%00%ff%canary7f3a HTTP/1.1", 404),
        (b"GET /api/cpv/match HTTP/1.0", 405),
    ],
)
def test_http_requests_for_nothing_that_exists_get_the_envelope_too(
    accounts: Accounts, first: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(first + b"\r\nHost: service\r\nConnection: close\r\n\r\n")
        assert refusal(rest(connection))[0] == status
    logged = [ServiceLines().format(record) for record in caplog.records]
    assert any('"message": "request"' in line for line in logged)
    assert not [line for line in logged if CANARY in line]


@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        (b"GET / HTTP/1.1\r\n", b"X-Much: " + b"x" * 1000 + b"\r\n"),
        (b"GET / HTTP/1.1\r\nX-Long: ", b"x" * 1000),
        (b"GET /", b"x" * 1000),
        (CHUNKED + b"1;", b"x" * 1000),
        (CHUNKED + b"0\r\n", b"X-Trailer: " + b"x" * 1000 + b"\r\n"),
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


@pytest.mark.parametrize(("size", "status"), [(MAX_HEAD, 200), (MAX_HEAD + 1, 431)])
@pytest.mark.parametrize("first", [16, MAX_HEAD // 2, MAX_HEAD + 1])
def test_a_head_has_exactly_the_bytes_that_the_documents_allow(
    accounts: Accounts, size: int, status: int, first: int
) -> None:
    """However it arrives."""
    start = b"GET /health HTTP/1.1\r\nHost: here\r\nX-Long: "
    head = start + b"x" * (size - len(start) - 4) + b"\r\n\r\n"
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(head[:first])
        connection.sendall(head[first:])
        assert connection.recv(65_536).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize("upgrade", ["h2c", "websocket"])
def test_an_offer_to_upgrade_is_not_taken(accounts: Accounts, upgrade: str) -> None:
    offer = f"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: {upgrade}\r\n\r\n".encode()
    with timed(create_app(accounts, SCRIPTED)) as running, connected(running.place) as connection:
        sent = 0
        for part in (CALL + offer + BODY, CALL + offer + BODY[:9], BODY[9:]):
            connection.sendall(part)
            sent += len(part)
            running.wait_for(sent)
            if part.endswith(BODY[9:]):
                assert one(connection).startswith(b"HTTP/1.1 200 ")


def test_a_trailer_is_no_header(accounts: Accounts) -> None:
    with serving(create_app(accounts, SCRIPTED)) as place, connected(place) as connection:
        connection.sendall(CHUNKED + b"%x\r\n%s\r\n" % (len(BODY), BODY))
        connection.sendall(b"0\r\nX-API-Key: tp_unknown\r\n\r\n")
        assert one(connection).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "parts",
    [
        [b"\r\n", USUAL],
        [b"\n\r\n" + USUAL],
        [USUAL + b"\r\n" + USUAL + b"\r\n\r\n"],
        [USUAL, b"\r", b"\n", CALL, b"\r\n" + BODY + b"\r\n", b"\r\n", USUAL],
    ],
    ids=["before", "two before", "between and after", "in pieces"],
)
def test_empty_lines_before_a_request_are_ignored_and_keep_no_connection(
    accounts: Accounts, parts: list[bytes]
) -> None:
    with timed(create_app(accounts, SCRIPTED)) as running, connected(running.place) as connection:
        sent, received = b"", b""
        for part in [*parts, HEALTH]:
            connection.sendall(part)
            sent += part
            running.wait_for(len(sent))
        while received.count(b"HTTP/1.1 200 ") < sent.count(b"Host: ") or received[-1:] != b"}":
            part = connection.recv(65_536)
            assert part, received
            received += part
        connection.sendall(b"\r\n")
        running.wait_for(len(sent) + 2)
        running.pass_time(IDLE + 1)
        assert rest(connection) == b""


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
