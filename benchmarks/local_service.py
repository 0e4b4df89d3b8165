"""A service on this machine that answers every call as fast as it can."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from pipeline.codes import load

DISK = "/var/tmp"
"""A folder on a disk: /tmp is in memory on many machines, where a sync costs nothing."""

ANSWER: Mapping[str, Any] = {
    "success": True,
    "message": "API call successful",
    "data": [
        {
            "code": f"4521{place}000",
            "title": f"Construction work for buildings of kind {place}",
            "confidence": round(0.95 - place / 10, 2),
            "codeType": "cpv",
        }
        for place in range(5)
    ],
    "metadata": {
        "costBreakdown": {
            "apiCost": 0.0001,
            "markupPercentage": 10,
            "markupAmount": 0.00001,
            "finalCost": 0.00011,
            "currency": "USD",
        }
    },
}

BODY = json.dumps(ANSWER).encode()


def response(body: bytes) -> bytes:
    """Return a response with a body."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{len(body)}\r\n\r\n".encode() + body


RESPONSE = response(BODY)

TITLES = [*load("cpv").titles.items()]


def own_response(request: bytes) -> bytes:
    """Return a response with codes, titles and confidences of its own for each request."""
    chance = random.Random(request)
    sure = sorted((chance.random() for _ in range(5)), reverse=True)
    matches = [
        {"code": code, "title": title, "confidence": round(confidence, 4), "codeType": "cpv"}
        for (code, title), confidence in zip(chance.sample(TITLES, 5), sure, strict=True)
    ]
    return response(json.dumps({**ANSWER, "data": matches}).encode())


class Answering(asyncio.Protocol):
    """Answers each request.

    Args:
        distinct: whether each text has an answer of its own.
    """

    def __init__(self, distinct: bool) -> None:
        self._distinct = distinct

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._got = b""

    def data_received(self, data: bytes) -> None:
        """Answer each complete request."""
        self._got += data
        while (end := self._got.find(b"\r\n\r\n") + 4) > 3:
            _, _, length = self._got[:end].lower().partition(b"content-length:")
            whole = end + int(length.split(b"\r\n", 1)[0] or 0)
            if len(self._got) < whole:
                return
            asked, self._got = self._got[end:whole], self._got[whole:]
            self._transport.write(own_response(asked) if self._distinct else RESPONSE)


def serve(port: Connection, distinct: bool) -> None:
    """Serve on a free port, and send its number."""

    async def forever() -> None:
        loop, made = asyncio.get_running_loop(), partial(Answering, distinct)
        server = await loop.create_server(made, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


@contextmanager
def server(distinct: bool = False) -> Iterator[str]:
    """Run the server in a separate process, and yield its address.

    Args:
        distinct: whether each text has an answer of its own; otherwise all have the same.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, distinct), daemon=True)
    process.start()
    there.close()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()
