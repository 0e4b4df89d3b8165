"""Reads requests in the usual form that arrive in one piece, with llhttp.

h11 reads everything else: requests in pieces, several at once, chunked bodies, offers to upgrade,
unusual methods and targets, and what is not HTTP. So only h11 refuses requests.
"""

from __future__ import annotations

from typing import NamedTuple

import httptools

__all__ = ["WholeRequest", "WholeRequests"]

LARGEST = 64 * 1024
"""Bytes of the largest request that is read here; larger ones seldom arrive in one piece."""

METHODS = {b"GET": "GET", b"POST": "POST"}

UNUSUAL = frozenset({b"expect", b"transfer-encoding", b"upgrade"})
"""Headers of requests that are left to h11."""

PERSISTENCE = {b"keep-alive": True, b"close": False}
"""Whether a connection is kept, by the usual values of the header Connection."""


class WholeRequest(NamedTuple):
    """A complete request; the names of its headers are in lower case."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes
    keep_alive: bool


class WholeRequests:
    """Reads the requests of one connection; llhttp calls the methods `on_...`."""

    def __init__(self) -> None:
        self._parser: httptools.HttpRequestParser | None = None
        self._begin()

    def read(self, data: bytes) -> WholeRequest | None:
        """Return the request that some data consist of; None if they are left to h11."""
        if len(data) > LARGEST:
            return None
        parser, self._parser = self._parser or httptools.HttpRequestParser(self), None
        self._begin()
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return None
        method = METHODS.get(parser.get_method())
        keep_alive = self._keep_alive()
        if method is None or keep_alive is None or not self._is_usual(data, method):
            return None
        self._parser = parser if keep_alive else None  # ready for the next request
        return WholeRequest(method, self._target, self._headers, self._body, keep_alive)

    def on_url(self, url: bytes) -> None:
        """Take the target."""
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; llhttp leaves white space after the value."""
        self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Count the requests."""
        self._complete += 1

    def _begin(self) -> None:
        self._target, self._body, self._complete = b"", b"", 0
        self._headers: list[tuple[bytes, bytes]] = []

    def _keep_alive(self) -> bool | None:
        """Return whether the client keeps the connection; None if its headers are unusual."""
        names = [name for name, _ in self._headers]
        if names.count(b"host") != 1 or not UNUSUAL.isdisjoint(names):
            return None
        if b"connection" not in names:
            return True
        return PERSISTENCE.get(
            b",".join(value.lower() for name, value in self._headers if name == b"connection")
        )

    def _is_usual(self, data: bytes, method: str) -> bool:
        """Return whether the data are one request, in the form that llhttp and h11 read alike."""
        return (
            self._complete == 1
            and self._target.startswith(b"/")
            and data.startswith(b"%s %s HTTP/1.1\r\n" % (method.encode(), self._target))
            and data.index(b"\r\n\r\n") + 4 + len(self._body) == len(data)
        )
