"""llhttp reads requests as h11 does, or leaves them to h11."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given, settings

from pipeline.service.http.whole_requests import LARGEST, WholeRequest, WholeRequests
from tests.service.http.almost_http import WELL_FORMED, almost_http
from tests.service.sockets import BODY, CALL

GET = b"GET /health?a=%2f HTTP/1.1\r\nHost: service\r\n"


def by_h11(data: bytes) -> WholeRequest | None:
    """Return the request that h11 finds if the data are exactly one that it accepts."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    request, body = connection.next_event(), b""
    assert isinstance(request, h11.Request)
    while isinstance(event := connection.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert connection.trailing_data[0] == b""
    keep_alive = connection.their_state is h11.DONE
    return WholeRequest(
        request.method.decode(), request.target, list(request.headers), body, keep_alive
    )


@pytest.mark.parametrize(
    "data",
    [
        GET + b"\r\n",
        CALL + b"\r\n" + BODY,
        CALL + b"Connection: close\r\n\r\n" + BODY,
        CALL + b"connection: Keep-Alive\r\nX-API-Key: \t a b \t\r\nX-Empty:\r\n\r\n" + BODY,
        CALL + b"X-Twice: 1\r\nX-Twice: \xe9\r\n\r\n" + BODY,
        b"POST / HTTP/1.1\r\nHost: service\r\n\r\n",
    ],
)
def test_a_usual_request_is_read_as_h11_reads_it(data: bytes) -> None:
    requests = WholeRequests()
    for _ in range(2):  # on a connection that is kept
        found = requests.read(data)
        assert found is not None
        assert found == by_h11(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n" + GET + b"\r\n",
        GET + b"\r\n\r\n",
        GET.replace(b"GET /", b"GET  /") + b"\r\n",
        GET.replace(b"GET /", b"GET http://service/") + b"\r\n",
        GET.replace(b" HTTP", b"  HTTP") + b"\r\n",
        GET.replace(b"1.1", b"1.0") + b"\r\n",
        GET.replace(b"HTTP/1.1", b"RTSP/1.0") + b"\r\n",
        GET.replace(b"GET", b"HEAD") + b"\r\n",
        GET.replace(b"/", b"/\xff", 1) + b"\r\n",
        GET.replace(b"Host", b"Hos") + b"\r\n",
        GET + b"Host: other\r\n\r\n",
        GET + b"X-Folded: 1\r\n 2\r\n\r\n",
        GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
        GET + b"Connection: close, x\r\n\r\n",
        GET + b"Connection: close\r\nConnection: close\r\n\r\n",
        GET + b"\r\n" + GET + b"\r\n",
        GET + b"\r\n" + GET,
        CALL + b"\r\n" + BODY[:-1],
        CALL + b"\r\n" + BODY + b"\r\n",
        CALL + b"Expect: 100-continue\r\n\r\n" + BODY,
        CALL + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        GET + b"X-Long: " + LARGEST * b"x" + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_unusual_is_left_to_h11(data: bytes) -> None:
    requests = WholeRequests()
    assert requests.read(data) is None
    assert requests.read(GET + b"\r\n") is not None  # what h11 reads leaves no trace


@given(almost_http())
@settings(max_examples=100, deadline=None)
def test_no_request_is_read_otherwise_than_h11_reads_it(sent: bytes) -> None:
    found = WholeRequests().read(sent)
    assert found is None or found == by_h11(sent)


def test_most_well_formed_requests_are_usual() -> None:
    assert [WholeRequests().read(data) is not None for data in WELL_FORMED] == [
        True,
        False,  # chunked
        False,  # HTTP/1.0
        True,
    ]
