"""Speaks HTTP as uvicorn does, with limits on a connection, and with the API's error body.

Requests that are not HTTP or too slow never reach the application, so they are answered here.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import sys
from collections import Counter
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.json_log import FIELDS
from pipeline.service.http.messages import failure
from pipeline.service.limits import network_of, parse_address

MAX_HEAD = 64 * 1024
"""Bytes of a request's head, which h11 keeps in memory."""

SLOWEST = 30.0
"""Seconds that a request may take to arrive completely, from its first byte."""

AT_REST = 1.0
"""Seconds without a request after which probably none is on its way, so that none is lost."""

BUSY = "The service is busy. Try again in a moment."

URL = re.compile(rb"https?://((?:\[[\da-f:.]+\]|[^]/?#@:[]+)(?::\d*)?)((?:[/?].*)?)", re.IGNORECASE)
"""A request's target in absolute form: the host, then the path and query."""

ENCODED_SLASH = re.compile(rb"%(?=2[Ff])")

LENGTHS = frozenset({b"content-length", b"transfer-encoding"})

log = logging.getLogger("pipeline.service")


class StrictRequests(h11.Connection):
    """Reads the requests of one connection, and writes the head of a response with its body.

    Each write is a packet, which wakes the client.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD)
        self._head: list[bytes] = []  # until the body comes

    def send_with_data_passthrough(self, event: h11.Event) -> list[bytes] | None:
        """Return the bytes to send for an event, those of a head with what follows; see h11."""
        written = super().send_with_data_passthrough(event)
        if isinstance(event, h11.Response):
            self._head = written or []
            return []
        head, self._head = self._head, []
        return None if written is None else head + written

    def next_event(self) -> Any:
        """Return the next event; see h11.

        Raises:
            h11.RemoteProtocolError: a request has both Content-Length and Transfer-Encoding. A
                proxy may use the other of the two, so that part of a body becomes a request here
                (RFC 9112, 6.3). Or its head is too large: h11 bounds only one that is incomplete.
        """
        unread = len(self.trailing_data[0]) if self.their_state is h11.IDLE else 0
        event = super().next_event()
        if not isinstance(event, h11.Request):
            return event
        if unread - len(self.trailing_data[0]) > MAX_HEAD:
            raise h11.RemoteProtocolError("The head is too large", error_status_hint=431)
        if {name for name, _ in event.headers} >= LENGTHS:
            raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding")
        return _with_path(event)


def _with_path(request: h11.Request) -> h11.Request:
    """Return a request with a path in which only a plain slash separates segments (RFC 3986, 2.2).

    A proxy that guards `/api/` does not match `/api%2fcpv/match`, so the service must not either.
    If the target is a URL, its host counts (RFC 9112, 3.2.2).
    """
    url = URL.fullmatch(request.target)
    host, target = url.groups() if url else (None, request.target)
    path, mark, query = target.partition(b"?")
    path = ENCODED_SLASH.sub(b"%25", path)  # what is read encodes it no more
    if url is None and path == target.partition(b"?")[0]:
        return request
    others = [header for header in request.headers if host is None or header[0] != b"host"]
    return h11.Request(
        method=request.method,
        target=(b"" if path.startswith(b"/") else b"/") + path + mark + query,
        headers=others if host is None else [(b"host", host), *others],
        http_version=request.http_version,
    )


class BoundedHttp(H11Protocol):
    """One connection.

    `limit_concurrency` of the configuration is the maximum number of connections; every request on
    an extra one gets 503.
    """

    _is_extra = False
    _network = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = StrictRequests()
        self._most = self.limit_concurrency
        self.limit_concurrency = None  # else uvicorn answers, in plain text
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start a connection."""
        super().connection_made(transport)
        if self.client is not None:
            self.client = (str(parse_address(self.client[0]) or self.client[0]), self.client[1])
            self._network = network_of(self.client[0])
        self._is_extra = not self._has_place()
        self._deadline = self.loop.call_later(SLOWEST, self._end_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read, within a time."""
        super().data_received(data)
        self._watch()

    def handle_events(self) -> None:
        """Handle what was read, without empty lines before a request (RFC 9112, 2.2)."""
        if self._is_extra:
            self._refuse(503, BUSY)
            return
        unread = self.conn.trailing_data[0]
        if self.conn.their_state is h11.IDLE and unread[:1] in (b"\r", b"\n"):  # h11 refuses them
            self.conn = StrictRequests()
            if request := unread.lstrip(b"\r\n"):  # without one, h11 would see the end of input
                self.conn.receive_data(request)
        super().handle_events()

    def on_response_complete(self) -> None:
        """Go on to the next request, of which some may have arrived."""
        super().on_response_complete()
        self._watch()

    def shutdown(self) -> None:
        """Let a request under way finish, and announce that the connection then closes.

        A client that sent another request would not learn its outcome.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.headers.append((b"connection", b"close"))  # uvicorn answers in kind
        super().shutdown()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words
        """Answer a request that is not HTTP; uvicorn calls this while it handles the error."""
        if getattr(sys.exc_info()[1], "error_status_hint", 400) == 431:
            self._refuse(431, f"The head is too large. Send {MAX_HEAD:,} bytes at most.")
        else:
            self._refuse(400, "This is not HTTP. Send an HTTP/1.1 request.")

    def _has_place(self) -> bool:
        """Return whether there are not too many connections.

        If there are, the one that has waited longest for a request gives way, of the network that
        has most of them: so no client can hold all of them, or cut off the others.
        """
        served = [
            other
            for other in self.connections
            if isinstance(other, BoundedHttp)
            and not (other._is_extra or other.transport.is_closing())
        ]
        if self._most is None or len(served) <= self._most:
            return True
        held = Counter(other._network for other in served)
        most = max(held.values())
        theirs = (one for one in served if held[one._network] == most)
        longest = min(theirs, key=BoundedHttp.waits_since)
        if longest.waits_since() > self.loop.time() - AT_REST:
            return False
        longest.end(503, BUSY)
        return True

    def waits_since(self) -> float:
        """Return since when it waits for a request, or for the rest of one; inf if it does not."""
        if self.timeout_keep_alive_task is not None:
            return self.timeout_keep_alive_task.when() - self.timeout_keep_alive
        return math.inf if self._deadline is None else self._deadline.when() - SLOWEST

    def _watch(self) -> None:
        """Limit the time for the rest of a request or, after empty lines, for a request."""
        waits = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
        if self.transport.is_closing() or not (waits or self._has_part()):
            self._cancel_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SLOWEST, self._end_late)

    def _has_part(self) -> bool:
        """Return whether a request has arrived in part."""
        state = self.conn.their_state
        return state is h11.SEND_BODY or (state is h11.IDLE and self.conn.trailing_data[0] != b"")

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_late(self) -> None:
        self._deadline = None
        self.end(408, f"The request is too slow. Send it within {SLOWEST:g} s.")

    def end(self, status: int, message: str) -> None:
        """Close the connection; answer so if a request has arrived in part."""
        if self._has_part():
            self._refuse(status, message)
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        """Answer, unless a response has begun, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_response(status, message))
        if self.cycle is not None:  # the reader of the body learns that no more comes
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
        address = self.client[0] if self.client else None
        log.info("refused", extra={FIELDS: {"status": status, "address": address}})


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
