"""A server on loopback that follows a script, and attempts at it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import Reply
from pipeline.paid.client.urls import BaseUrl
from tests.paid.client.virtual_time import pass_time

KEY = "sk_live_0123456789abcdef"
OK = b'{"success":true,"message":"ok","data":[],"metadata":{"cost":{"apiCost":0.0001}}}'


@dataclass
class Exchange:
    """One connection as a script of the test server sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: Server

    async def read_request(self) -> None:
        head = await self.reader.readuntil(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        lower = {name.lower(): value for name, value in fields.items()}
        body = await self.reader.readexactly(int(lower[b"content-length"]))
        self.server.requests.append((head.split(b"\r\n")[0], lower, body))

    async def answer(self, body: bytes = OK, head: str = "200 OK", *fields: str) -> None:
        lines = [f"HTTP/1.1 {head}", f"Content-Length: {len(body)}", *fields]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


@dataclass
class Server:
    """A server on loopback that counts what reaches it."""

    base: BaseUrl
    connections: int = 0
    requests: list[tuple[bytes, dict[bytes, bytes], bytes]] = field(default_factory=list)


Script = Callable[[Exchange], Awaitable[None]]


@asynccontextmanager
async def serving(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(BaseUrl("http://not.yet"))
    open_now = set[asyncio.Task[Any]]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        if task := asyncio.current_task():
            open_now.add(task)
            task.add_done_callback(open_now.discard)
        try:
            await script(Exchange(reader, writer, server))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    server.base = BaseUrl(f"{'https' if tls else 'http'}://localhost:{port}")
    try:
        yield server
    finally:
        listener.close()
        for task in open_now.copy():
            task.cancel()
        while open_now:
            await asyncio.sleep(0)


async def attempt(base: BaseUrl, text: str = "Seeds", **options: Any) -> Reply:
    return await Client(base, KEY, **{"timeout": 5.0} | options).send("cpv", text)


async def answers(exchange: Exchange) -> None:
    while True:
        await exchange.read_request()
        await exchange.answer()


async def speaks_no_tls(exchange: Exchange) -> None:
    await exchange.reader.read(1)
    await exchange.answer(b"", "400 Bad Request", "Connection: close")


async def drops_after_reading(exchange: Exchange) -> None:
    await exchange.read_request()


async def resets_after_reading(exchange: Exchange) -> None:
    await exchange.read_request()
    exchange.writer.transport.abort()


def says(data: bytes) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.raw(data)

    return script


def floods_with(head: bytes, flood: bytes) -> Script:
    """Return a script that sends a head, and then the same again and again."""

    async def script(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.raw(head)
        while True:
            await exchange.raw(flood)
            await pass_time(0.005)

    return script


async def silent(exchange: Exchange) -> None:
    await exchange.read_request()
    await waits(exchange)


async def waits(exchange: Exchange) -> None:
    """Say nothing for 50 s, or until the other end closes the connection."""
    for _ in range(1_000):
        if exchange.reader.at_eof():
            break
        await pass_time()
