"""Writes usual responses in one piece, with heads of known lines: uvicorn checks every header."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent, HTTPResponseBodyEvent

__all__ = ["Cycle"]

UNUSUAL = frozenset({b"connection", b"set-cookie", b"transfer-encoding"})
"""Headers of responses that are left to uvicorn; what a cookie has is kept nowhere."""

KNOWN_LINES = 1_000
"""Most responses have the same headers, but for an id and a length."""


class Cycle(RequestResponseCycle):
    """A request and its response, which is written in one piece if it comes so."""

    _head = b""  # until the body comes

    async def send(self, message: ASGISendEvent) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start" and self._is_ready():
            headers = [*self.default_headers, *message.get("headers", ())]
            stated = dict(headers)
            if b"content-length" in stated and UNUSUAL.isdisjoint(stated):
                self.response_started, self.chunked_encoding = True, False
                self.expected_content_length = int(stated[b"content-length"])
                lines = [_line(name, value) for name, value in headers]
                self._head = b"".join([STATUS_LINE[message["status"]], *lines, b"\r\n"])
                return
        if self._head and not self.disconnected:
            head, self._head = self._head, b""
            if message["type"] == "http.response.body" and self._is_whole(message):
                self.transport.write(head + message.get("body", b""))
                self.response_complete = True
                self.message_event.set()
                self.on_response()
                return
            self.transport.write(head)
        await super().send(message)

    def _is_ready(self) -> bool:
        """Return whether a response may begin, on a connection that is kept."""
        waits = self.response_started or self.disconnected or self.flow.write_paused
        return self.keep_alive and not waits

    def _is_whole(self, message: HTTPResponseBodyEvent) -> bool:
        """Return whether a part is the whole body, and may be written at once."""
        is_stated = len(message.get("body", b"")) == self.expected_content_length
        is_whole = is_stated and not message.get("more_body") and self.scope["method"] != "HEAD"
        return is_whole and self.keep_alive and not self.flow.write_paused


@lru_cache(KNOWN_LINES)
def _line(name: bytes, value: bytes) -> bytes:
    """Return a header as a line.

    Raises:
        RuntimeError: it is not valid.
    """
    if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
        raise RuntimeError("Invalid HTTP header.")
    return b"%s: %s\r\n" % (name.lower(), value)
