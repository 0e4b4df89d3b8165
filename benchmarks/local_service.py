"""A service on this machine that gives one answer to every call, as fast as it can."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

__all__ = ["BODY", "DISK", "server"]

DISK = "/var/tmp"
"""A folder on a disk: /tmp is in memory on many machines, where a sync costs nothing."""

BODY = json.dumps(
    {
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
).encode()


HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
RESPONSE = f"{HEAD}{len(BODY)}\r\n\r\n".encode() + BODY


class Answering(asyncio.Protocol):
    """Gives every request the same answer."""

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
            self._got = self._got[whole:]
            self._transport.write(RESPONSE)


def serve(port: Connection) -> None:
    """Serve on a free port, and send its number."""

    async def forever() -> None:
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


@contextmanager
def server() -> Iterator[str]:
    """Run the server in a separate process, and yield its address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there,), daemon=True)
    process.start()
    there.close()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()
