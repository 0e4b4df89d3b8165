"""Reads requests with h11: exactly one body, and a path even where the target is a URL."""

from __future__ import annotations

import re
from typing import Any

import h11

__all__ = ["StrictRequests"]

URL = re.compile(rb"https?://((?:\[[\da-f:.]+\]|[^]/?#@:[]+)(?::\d*)?)((?:[/?].*)?)", re.IGNORECASE)
"""A request's target in absolute form: the host, then the path and query."""

LENGTHS = frozenset({b"content-length", b"transfer-encoding"})


class StrictRequests(h11.Connection):
    """Reads the requests of one connection."""

    def next_event(self) -> Any:
        """Return the next event; see h11.

        Raises:
            h11.RemoteProtocolError: a request has both Content-Length and Transfer-Encoding. A
                proxy may use the other of the two, so that part of a body becomes a request here
                (RFC 9112, 6.3).
        """
        event = super().next_event()
        if not isinstance(event, h11.Request):
            return event
        if {name for name, _ in event.headers} >= LENGTHS:
            raise h11.RemoteProtocolError("Content-Length and Transfer-Encoding")
        return _with_path(event)


def _with_path(request: h11.Request) -> h11.Request:
    """Return a request with a path, if its target is a URL, whose host counts (RFC 9112, 3.2.2)."""
    url = URL.fullmatch(request.target)
    if url is None:
        return request
    host, path = url.groups()
    others = [header for header in request.headers if header[0] != b"host"]
    return h11.Request(
        method=request.method,
        target=path if path.startswith(b"/") else b"/" + path,
        headers=[(b"host", host), *others],
        http_version=request.http_version,
    )
