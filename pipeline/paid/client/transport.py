"""Sends requests to one host, each over a connection of its own."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, Final

import aiohappyeyeballs
import httpx
from aiohappyeyeballs import AddrInfoType

from pipeline.paid.client.connection import Connection
from pipeline.paid.client.exchanges import Body, Field, Response
from pipeline.paid.client.proxy import Proxied, proxy_of

__all__ = ["OverHttpx", "Transport"]

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

NEXT_ADDRESS_S: Final = 0.25
"""Seconds without an answer after which a host's next address is tried as well (RFC 8305)."""

ADDRESSES_KEPT_S: Final = 10.0
"""For so many seconds, a host is not looked up again: each lookup takes a thread."""


class Transport(httpx.AsyncBaseTransport):
    """Sends requests to one host.

    Each request has a connection of its own, which is closed after the response. So what a server
    sends too late or too often is never read as the answer to another request. No redirects are
    followed, no cookies are kept, and nothing is decompressed.

    Args:
        url: any address at the host; it decides which proxy of the environment is used.

    Raises:
        SettingsError: the environment names a proxy that cannot be used.
    """

    def __init__(self, url: httpx.URL) -> None:
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or DEFAULT_PORTS[url.scheme]
        self._secure = url.scheme == "https"
        self._tls: ssl.SSLContext | None = None
        self._addresses: Sequence[AddrInfoType] = ()
        self._looked_up_at = 0.0
        proxy = proxy_of(url)
        self._proxied = proxy and Proxied(proxy, self._secure)

    async def aclose(self) -> None:
        """Let the event loop close what is still closing."""
        if self._proxied:
            await self._proxied.aclose()
        await asyncio.sleep(0)

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
        connection = await self._connected()
        try:
            target = url.raw_path
            got = await connection.exchange(method.encode(), target, headers, body.begin())
        except BaseException:
            connection.close()
            raise
        if isinstance(got.body, bytes):
            connection.close()
        return got

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        if self._secure and self._tls is None:
            self._tls = httpx.create_ssl_context()
        connected = await self._socket()
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
        return connection

    async def _socket(self) -> socket.socket:
        """Connect to one of the host's addresses."""
        now = asyncio.get_running_loop().time()
        if not self._addresses or now > self._looked_up_at + ADDRESSES_KEPT_S:
            self._addresses = await _addresses(self._host, self._port)
            self._looked_up_at = now
        try:
            return await aiohappyeyeballs.start_connection(
                self._addresses, happy_eyeballs_delay=NEXT_ADDRESS_S
            )
        except OSError:
            self._addresses = ()  # the host may have moved
            raise


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
