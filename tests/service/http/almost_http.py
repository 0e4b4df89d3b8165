"""Requests, whole and damaged."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.service.sockets import BODY, CALL, CHUNKED

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
