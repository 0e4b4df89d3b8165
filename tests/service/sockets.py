"""The server in a thread, and clients that see every byte."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.service import server
from pipeline.service.http.protocol import BoundedHttp

BODY = b'{"description": "road"}'

CALL = (
    b"POST /api/cpv/match HTTP/1.1\r\nHost: service\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n" % len(BODY)
)
"""A call as far as its length: further fields, an empty line and the body follow."""

CHUNKED = CALL.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
"""The head of a call whose body comes in chunks."""

HEALTH = b"GET /health HTTP/1.1\r\nHost: service\r\n\r\n"


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


class Timed:
    """A server whose clock a test puts forward, so that no test waits for the machine's.

    Attributes:
        place: where it is.
    """

    def __init__(self, place: tuple[str, int], loop: Loop) -> None:
        self.place, self._loop = place, loop
        self._bytes, self._arrived = 0, threading.Condition()

    def pass_time(self, seconds: float) -> None:
        """Put the clock forward, after everything that is under way in the loop now."""
        self._loop.call_soon_threadsafe(self._advance, seconds)

    def wait_for(self, sent: int) -> None:
        """Wait until the server has read so many bytes, from all connections since the start."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: self._bytes >= sent, 60)

    def note(self, data: bytes) -> None:
        """Note bytes that arrived."""
        with self._arrived:
            self._bytes += len(data)
            self._arrived.notify_all()

    def _advance(self, seconds: float) -> None:
        self._loop.ahead += seconds


@contextmanager
def timed(
    app: Any,
    host: str = "127.0.0.1",
    protocol: type[BoundedHttp] = BoundedHttp,
    **options: Any,
) -> Iterator[Timed]:
    """Run the server in a thread on a free port, on a clock of its own."""
    here: list[Timed] = []

    class Noting(protocol):  # type: ignore[valid-type, misc]
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            here[0].note(data)

    running, loop = server.Server(app, protocol=Noting, **options), Loop()

    def run(listener: socket.socket) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(running.serve([listener]))

    with server.listening(host, 0) as listener:
        here.append(Timed(listener.getsockname()[:2], loop))
        thread = threading.Thread(target=run, args=(listener,))
        thread.start()
        try:
            yield here[0]
        finally:
            running.should_exit = True
            thread.join()


@contextmanager
def serving(app: Any, host: str = "127.0.0.1", **options: Any) -> Iterator[tuple[str, int]]:
    """Run the server in a thread on a free port; give where it is."""
    with timed(app, host, **options) as running:
        yield running.place


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
        part = connection.recv(65_536)
        assert part, received
        received += part
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
