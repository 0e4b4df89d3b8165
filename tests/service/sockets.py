"""The server in a thread, and clients that see every byte."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.service import server

BODY = b'{"description": "road"}'

CALL = (
    b"POST /api/cpv/match HTTP/1.1\r\nHost: service\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n" % len(BODY)
)
"""A call as far as its length: further fields, an empty line and the body follow."""


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
    with socket.create_connection(place, timeout=15) as connection:
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
    # What came too slowly, or is one too many, may be sent again; what is wrong may not.
    assert body["error"] == ("INTERNAL_ERROR" if status in (408, 503) else "VALIDATION_ERROR")
    return status, body["message"]
