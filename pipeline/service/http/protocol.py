"""Speaks HTTP as uvicorn does, with limits on a connection, and with the API's error body.

Requests that are not HTTP or too slow never reach the application, so they are answered here.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import Any, Literal, NamedTuple

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from pipeline.json_log import FIELDS
from pipeline.service.http.messages import failure
from pipeline.service.limits import parse_address

MAX_HEAD = 64 * 1024
"""Bytes of a request's head."""

MOST_REFUSED = 50
"""Connections beyond the maximum that wait for their refusal; each is an open file."""

MOST_AHEAD = 100
"""Requests of a connection that may wait for the answer to an earlier one."""

SLOWEST = 30.0
"""Seconds that a request may take to arrive completely, from its first byte."""


class Refusal(NamedTuple):
    """The answer to a request that does not reach the application."""

    status: int
    message: str


NO_HTTP = Refusal(400, "This is not HTTP. Send an HTTP/1.1 request.")
TOO_LARGE = Refusal(431, f"The head is too large. Send {MAX_HEAD:,} bytes at most.")
TOO_SLOW = Refusal(408, f"The request is too slow. Send it within {SLOWEST:g} s.")
BUSY = Refusal(503, "The service is busy. Try again in a moment.")

log = logging.getLogger("pipeline.service")


class BoundedHttp(HttpToolsProtocol):
    """One connection.

    `limit_concurrency` of the configuration is the maximum number of connections; every request on
    an extra one gets 503.

    llhttp reads on while earlier requests are answered. What is wrong then is answered after them.
    """

    _is_extra = False
    _part: Literal["head", "body"] | None = None
    """What arrives of a request; None between two."""
    _answered: RequestResponseCycle | None = None
    """The request that the application answers."""
    _unread = 0
    """Bytes since the head began, or since the last of the body."""
    _refusal: Refusal | None = None
    """What the request that arrives is answered with; nothing more is read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._most = self.limit_concurrency
        self.limit_concurrency = None  # else uvicorn answers, in plain text
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start a connection."""
        super().connection_made(transport)
        if self.client is not None:
            self.client = (str(parse_address(self.client[0]) or self.client[0]), self.client[1])
        extra = sum(
            isinstance(connection, BoundedHttp) and connection._is_extra
            for connection in self.connections
        )
        self._is_extra = self._most is not None and len(self.connections) - extra > self._most
        if self._is_extra and extra >= MOST_REFUSED:
            transport.abort()
        self._deadline = self.loop.call_later(SLOWEST, self._end_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._cancel_deadline()
        self._leave()  # uvicorn ends only the last of several requests
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return whether to keep the connection, for the answers to complete requests."""
        if self._part == "body" or self.cycle is None or self.cycle.response_complete:
            return False
        self.cycle.keep_alive = False
        return True

    def _leave(self) -> None:
        """Let the application send and receive no more."""
        if self._answered is not None:
            self._answered.disconnected = True
            self._answered.message_event.set()

    def data_received(self, data: bytes) -> None:
        """Read, within a time."""
        self._unset_keepalive_if_required()
        if self._is_extra:
            self._refusal = BUSY
        if self._refusal is None:
            self._unread += len(data)
            try:
                self._read(data)
            except httptools.HttpParserError:
                self._refusal = self._refusal or NO_HTTP
            if self._part and self._unread > MAX_HEAD:
                self._refusal = TOO_LARGE
        self._watch()

    def _read(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as offer:
                # It is not taken, but llhttp leaves even the body to the other protocol.
                first = self.parser.get_method(), self.url, self.parser.get_http_version().encode()
                lines = [b"%s %s HTTP/%s" % first]
                lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
                data = b"\r\n".join([*lines, b"", data[offer.args[0] :]])
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # like uvicorn

    def on_message_begin(self) -> None:
        """Begin to read a request."""
        self._part, self._unread = "head", 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers are ignored."""
        if self._part == "head":
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check what llhttp does not, and begin to answer.

        Raises:
            HttpParserError: the head is too large, or asks for a tunnel; or too many requests wait.
        """
        method = self.parser.get_method()
        size = len(method) + len(self.url) + len(b"  HTTP/1.1\r\n\r\n")
        if size + sum(len(name) + len(value) + 4 for name, value in self.headers) > MAX_HEAD:
            self._refusal = TOO_LARGE
            raise httptools.HttpParserError("The head is too large")
        if len(self.pipeline) >= MOST_AHEAD:  # uvicorn would read on after each answer
            self._refusal = BUSY
            raise httptools.HttpParserError("Too many requests wait")
        if method == b"CONNECT":
            raise httptools.HttpParserError("This is no proxy")
        if not self.parser.should_upgrade():
            super().on_headers_complete()
            self._part, self._unread = "body", 0

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request, unless it is read again without its offer to upgrade."""
        self._part = None
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request, of which some may have arrived."""
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Limit the time for what arrives, or refuse it, once all before it is answered."""
        if self.transport.is_closing() or not self._is_clients_turn():
            self._cancel_deadline()
        elif self._refusal is not None:
            self._refuse(self._refusal)
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SLOWEST, self._end_late)

    def _is_clients_turn(self) -> bool:
        """Return whether only the client can go on: with a request, or with the rest of one."""
        if self._part == "body":
            return not self.pipeline
        waits = self.cycle is None or self.cycle.response_complete
        return waits and (bool(self._refusal or self._part) or not self.timeout_keep_alive_task)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_late(self) -> None:
        self._deadline = None
        if self._part:
            self._refuse(TOO_SLOW)
        else:
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer, unless a response has begun, and close the connection."""
        if self._part != "body" or self.cycle is None or not self.cycle.response_started:
            self.transport.write(_response(*refusal))
        self._leave()
        self.transport.close()
        address = self.client[0] if self.client else None
        log.info("refused", extra={FIELDS: {"status": refusal.status, "address": address}})


def _response(status: int, message: str) -> bytes:
    body = failure(status, message)
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        "content-type: application/json\r\n"
        f"content-length: {len(body)}\r\n"
        + ("retry-after: 1\r\n" if status == 503 else "")
        + "connection: close\r\n\r\n"
    )
    return head.encode() + body
