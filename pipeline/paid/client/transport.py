"""Sends requests to one host, each over a connection of its own."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import Any, Final, Literal, TypeAlias, cast

import aiohappyeyeballs
import h11
import httpx
import msgspec
from aiohappyeyeballs import AddrInfoType

from pipeline.paid.client.exchanges import (
    Body,
    BrokenResponseError,
    DisconnectedError,
    Field,
    Response,
)
from pipeline.paid.client.proxy import Proxied, proxy_of

__all__ = ["Connection", "OverHttpx", "Transport"]


LARGEST_HEAD: Final = 1 << 16
"""Bytes: a longer list of headers is an error."""

LARGEST_USUAL: Final = 1 << 20
"""Bytes: a longer body is read in pieces."""

MOST_HEADS: Final = 10
"""The most heads of one response: the final one, and the informational ones (1xx) before it."""

MOST_UNREAD: Final = 1 << 18
"""Bytes: while this much is received and unread, nothing more is received."""

HEAD: Final = re.compile(
    rb"HTTP/1\.1 ([2-5]\d\d)(?: [^\r\n]*)?\r\n((?:[!#-'*+\-.^-`|~\w]+:[^\r\n\0]*\r\n)*)\r\n"
)
FIELD: Final = re.compile(rb"([^:]+):[ \t]*+([^ \t\r]*+(?:[ \t]++[^ \t\r]++)*+)[ \t]*+\r\n")
"""It never goes back: else 60,000 spaces inside a value would stop everything for seconds."""
END_OF_HEAD: Final = re.compile(rb"\n\r?\n")
WITHOUT_BODY: Final = (b"204", b"304")


class _Head(msgspec.Struct, frozen=True):
    """The head of a response in the usual form, whose body has a stated length."""

    status: int
    fields: Sequence[Field]
    body_from: int
    body_to: int


_Unknown: TypeAlias = Literal["incomplete", "unusual"]


def _head(got: bytearray) -> _Head | _Unknown:
    """Return the head of a response in the usual form; otherwise, why there is none."""
    found = HEAD.match(got)
    if found is None or found.end() > LARGEST_HEAD or found[1] in WITHOUT_BODY:
        return _unknown(got)
    fields: list[Field] = FIELD.findall(found[2])
    named: dict[bytes, bytes] = {}
    for name, value in fields:
        key = name.lower()
        named[key] = b"%b,%b" % (named[key], value) if key in named else value
    length = named.get(b"content-length", b"")
    if not length.isdigit() or b"transfer-encoding" in named or int(length) > LARGEST_USUAL:
        return "unusual"
    return _Head(int(found[1]), fields, found.end(), found.end() + int(length))


def _unknown(got: bytearray) -> _Unknown:
    end = END_OF_HEAD.search(got)
    if end is None:
        return "incomplete" if len(got) <= LARGEST_HEAD else "unusual"
    if end.start() > LARGEST_HEAD:
        raise BrokenResponseError
    return "unusual"


class Connection(asyncio.Protocol):
    """A connection to a server, for a single exchange; make it in its event loop.

    HTTP/1.1 does not say which request a response belongs to. On a second exchange, a late copy of
    the first answer could not be told from the second one.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._got = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: Exception | None = None
        self._paused = False

    @property
    def ended(self) -> bool:
        """Whether the server closed the connection."""
        return self._ended

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop has its own class

    def data_received(self, data: bytes) -> None:
        """Keep what has arrived until it is read."""
        self._got += data
        if self._waiter is not None:
            self._wake()
        elif len(self._got) > MOST_UNREAD and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> None:
        """Note that the server sends nothing more; the transport closes itself."""
        self._ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Note that the connection is gone."""
        self._ended = True
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """Close the connection, whatever it does."""
        self._ended = True
        self._transport.abort()

    async def exchange(
        self, method: bytes, target: bytes, fields: Sequence[Field], content: bytes
    ) -> Response:
        """Send a request and return its response.

        The response is complete if its form is usual and all of it arrives at once. Otherwise its
        body is read later, from its stream.

        Raises:
            OSError: there is no response.
        """
        lines = b"".join([b"%b: %b\r\n" % field for field in fields])
        self._transport.write(b"%b %b HTTP/1.1\r\n%b\r\n%b" % (method, target, lines, content))
        while (head := _head(self._got)) == "incomplete" and await self._more():
            pass
        if not self._got:
            raise DisconnectedError
        if not isinstance(head, _Head):
            self._got = self._got.lstrip(b"\r\n")  # h11 reads no line end before a response
            return await _Unusual(self, method, target).response()
        if len(self._got) < head.body_to:
            del self._got[: head.body_from]
            return Response(head.status, head.fields, _ResponseBody(self, head))
        return Response(head.status, head.fields, bytes(self._got[head.body_from : head.body_to]))

    async def read(self) -> bytes:
        """Return what has arrived since the last time; nothing at the end of the connection."""
        if not self._got:
            await self._more()
        data = bytes(self._got)
        self._got.clear()
        return data

    async def _more(self) -> bool:
        """Wait until more has arrived; False: nothing more will.

        Raises:
            OSError: the connection broke.
        """
        if not self._ended:
            if self._paused:
                self._paused = False
                self._transport.resume_reading()
            self._waiter = self._loop.create_future()
            arrived = len(self._got)
            try:
                await self._waiter
            finally:
                self._waiter = None
            if len(self._got) > arrived:
                return True
        if self._error is not None:
            raise self._error
        return False


class _ResponseBody(httpx.AsyncByteStream):
    """Reads a body of a stated length that has not all arrived."""

    def __init__(self, connection: Connection, head: _Head) -> None:
        self._connection = connection
        self._head = head

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._head.body_to - self._head.body_from
        while left > 0:
            data = await self._connection.read()
            if not data:
                raise DisconnectedError
            yield data[:left]
            left -= len(data)

    async def aclose(self) -> None:
        self._connection.close()


class _Unusual(httpx.AsyncByteStream):
    """Reads a response in any form that HTTP/1.1 allows; its body is this stream."""

    def __init__(self, connection: Connection, method: bytes, target: bytes) -> None:
        self._connection = connection
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        self._parser.send(h11.Request(method=method, target=target, headers=[("Host", "any")]))
        self._parser.send(h11.EndOfMessage())

    async def response(self) -> Response:
        """Read the head."""
        for _ in range(MOST_HEADS):
            event = await self._event()
            if isinstance(event, h11.Response):
                return Response(event.status_code, event.headers.raw_items(), self)
        raise BrokenResponseError

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._event(), h11.Data):
            yield bytes(event.data)

    async def aclose(self) -> None:
        self._connection.close()

    async def _event(self) -> Any:
        try:
            while (event := self._parser.next_event()) is h11.NEED_DATA:
                self._parser.receive_data(await self._connection.read())
        except h11.RemoteProtocolError as error:
            raise (DisconnectedError if self._connection.ended else BrokenResponseError) from error
        return event


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
