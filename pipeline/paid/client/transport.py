"""Sends requests to one host over connections that it keeps."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, Final

import aiohappyeyeballs
import httpx
from aiohappyeyeballs import AddrInfoType

from pipeline.paid.client.connection import Connection
from pipeline.paid.client.exchanges import Body, BrokenResponseError, Field, Response
from pipeline.paid.client.proxy import Proxied, proxy_of

__all__ = ["OverHttpx", "Transport"]

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

NEXT_ADDRESS_S: Final = 0.25
"""Seconds without an answer after which a host's next address is tried as well (RFC 8305)."""

FEWEST_REUSED: Final = 10
"""If fewer connections are reused for each one that the server closed too soon, or on which it sent
something else than responses, none is kept."""

TOO_SOON_S: Final = 1.0
"""A server closes a connection too soon if it was idle for less than this, in seconds."""

CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""It goes on while the machine sleeps, unlike the event loop's: a server closes the connections of
a machine that sleeps, and a request on one of these would be lost. On macOS, which has no
CLOCK_BOOTTIME, CLOCK_MONOTONIC goes on, too, while `time.monotonic` stands still."""

log = logging.getLogger(__name__)


class Transport(httpx.AsyncBaseTransport):
    """Sends requests to one host.

    httpx's own pool searches all its connections for each request: with 50 tasks it takes several
    times the processor time of a whole purchase. aiohttp's session took a quarter of that time.
    This transport follows no redirects, keeps no cookies, and decompresses nothing.

    Args:
        url: any address at the host; it decides which proxy of the environment is used.
        connections: the maximum number of requests under way at once.
        keep_alive: how many seconds an idle connection is kept.

    Raises:
        SettingsError: the environment names a proxy that cannot be used.
    """

    def __init__(self, url: httpx.URL, connections: int, keep_alive: float) -> None:
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or DEFAULT_PORTS[url.scheme]
        self._secure = url.scheme == "https"
        self._keep_alive = keep_alive
        self._tls: ssl.SSLContext | None = None
        self._free = asyncio.Semaphore(connections)
        self._open: dict[Connection, None] = {}
        self._idle: list[tuple[float, Connection]] = []
        self._cleaning: asyncio.TimerHandle | None = None
        self._reused = self._hung_up = 0
        proxy = proxy_of(url)
        self._proxied = proxy and Proxied(proxy, self._secure, connections, keep_alive)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._proxied:
            await self._proxied.aclose()
        if self._cleaning is not None:
            self._cleaning.cancel()
        for connection in [*self._open]:
            self._close(connection)
        self._idle.clear()
        await asyncio.sleep(0)  # the event loop closes the sockets

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; see `exchange`."""
        stream = request.stream
        body = stream if isinstance(stream, Body) else Body(await request.aread())
        got = await self.exchange(request.method, request.url, request.headers.raw, body)
        rest = httpx.ByteStream(got.body) if isinstance(got.body, bytes) else got.body
        return httpx.Response(got.status, headers=[*got.headers], stream=rest)

    async def exchange(
        self, method: str, url: httpx.URL, headers: Sequence[Field], body: Body
    ) -> Response:
        """Send a request without httpx's objects for it, which take longer to make than to send.

        The body is read once there is a connection.

        Raises:
            OSError: there is no response.
        """
        if self._proxied:
            return await self._proxied.exchange(method, url, headers, body)
        await self._free.acquire()
        connection = kept = self._kept()
        try:
            connection = kept or await self._connected()
            target = url.raw_path
            got = await connection.exchange(method.encode(), target, headers, body.begin())
        except BaseException as error:
            broken = isinstance(error, BrokenResponseError)
            self._hung_up += kept is not None and (kept.ended or broken)
            self._release(connection)
            raise
        self._reused += kept is not None
        if isinstance(got.body, bytes):
            self._release(connection)
            return got
        return Response(got.status, got.headers, _Rest(self, connection, got.body))

    def _kept(self) -> Connection | None:
        """Return an idle connection that can still be used, if any."""
        now = time.clock_gettime(CLOCK)
        while self._idle:
            since, connection = self._idle.pop()
            if connection.reusable and since > now - self._keep_alive:
                return connection
            self._hung_up += not connection.reusable and since > now - TOO_SOON_S
            self._close(connection)
        return None

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        if self._secure and self._tls is None:
            self._tls = httpx.create_ssl_context()
        addresses = await _addresses(self._host, self._port)
        connected = await aiohappyeyeballs.start_connection(
            addresses, happy_eyeballs_delay=NEXT_ADDRESS_S
        )
        try:
            _, connection = await loop.create_connection(
                Connection,
                sock=connected,
                ssl=self._tls,
                server_hostname=self._host.rstrip(".") if self._secure else None,
            )
        except BaseException:
            connected.close()
            raise
        self._open[connection] = None
        return connection

    def _release(self, connection: Connection | None) -> None:
        """Keep a connection for another request if it can be used again; else close it."""
        self._free.release()
        if connection is None:
            return
        if not connection.reusable or self._hung_up * FEWEST_REUSED > self._reused:
            self._close(connection)
            return
        loop = asyncio.get_running_loop()
        self._idle.append((time.clock_gettime(CLOCK), connection))
        if self._cleaning is None:
            self._cleaning = loop.call_later(self._keep_alive, self._clean)

    def _clean(self) -> None:
        """Close the connections that have been idle for too long."""
        loop = asyncio.get_running_loop()
        oldest = time.clock_gettime(CLOCK) - self._keep_alive
        for since, connection in self._idle:
            if since <= oldest:
                self._close(connection)
        self._idle = [one for one in self._idle if one[0] > oldest]
        self._cleaning = loop.call_later(self._keep_alive, self._clean) if self._idle else None

    def _close(self, connection: Connection) -> None:
        if connection.is_ahead and self._keep_alive:
            # Another connection might take such a response for the answer to its next request.
            self._keep_alive = 0.0
            log.warning(
                "The service sent a response that nobody asked for. If others arrived while the "
                "next request was under way, answers of this run belong to other texts: look at "
                "some. No connection is used twice from now on."
            )
        self._open.pop(connection, None)
        connection.close()


async def _addresses(host: str, port: int) -> Sequence[AddrInfoType]:
    """Return the addresses of a host.

    The event loop's own lookups run in its executor. Before asyncio closes a loop, it waits for
    all of them, although nobody can end one, and in an outage each takes a minute or longer.
    """
    found: Future[Any] = Future()
    found.set_running_or_notify_cancel()  # only the thread ends it, also if nobody waits any more

    def look_up() -> None:
        try:
            found.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # it may be about the encoding of the name, too
            found.set_exception(error)

    Thread(target=look_up, daemon=True).start()
    return await asyncio.wrap_future(found)


class _Rest(httpx.AsyncByteStream):
    """The body of a response that has not all arrived; closing it releases its connection."""

    def __init__(
        self, transport: Transport, connection: Connection, stream: httpx.AsyncByteStream
    ) -> None:
        self._transport = transport
        self._connection = connection
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream.__aiter__()

    async def aclose(self) -> None:
        self._transport._release(self._connection)


class OverHttpx:
    """Sends requests over any of httpx's transports."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()

    async def exchange(
        self, method: str, url: httpx.URL, headers: Sequence[Field], body: Body
    ) -> Response:
        """Send a request; see `Transport.exchange`."""
        request = httpx.Request(method, url, headers=list(headers), stream=body)
        got = await self._transport.handle_async_request(request)
        assert isinstance(got.stream, httpx.AsyncByteStream)  # noqa: S101 - it is not sync
        return Response(got.status_code, got.headers.raw, got.stream)
