"""Sends requests to one host, each over a connection of its own, directly or through a proxy."""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from threading import Thread
from typing import Any, Final, TypeAlias, cast
from urllib.request import getproxies, proxy_bypass

import aiohappyeyeballs
import h11
import httpx
from aiohappyeyeballs import AddrInfoType

from pipeline.errors import SettingsError
from pipeline.paid.client.urls import is_this_machine

LARGEST_HEAD: Final = 1 << 16
"""Bytes: a longer list of headers is an error."""

MOST_HEADS: Final = 10
"""The most heads of one response: the final one, and the informational ones (1xx) before it."""

ANY_REQUEST, ANY_CONNECT = (
    h11.Request(method=method, target="any", headers=[("Host", "any")])
    for method in ("POST", "CONNECT")
)
"""What the parser is told of a request, which is sent without it: what response may follow."""

PORTION: Final = 1 << 14
"""Bytes that the parser gets at once: it measures a head only while that is not complete."""

Field: TypeAlias = tuple[bytes, bytes]
"""The name and the value of a header."""


class BrokenResponseError(ConnectionError):
    """The response is not HTTP."""


@dataclass(slots=True)
class Exchange:
    """A request, and as much of its response as has arrived.

    Attributes:
        method, url, headers, content: the request.
        begun: whether a transport has begun to send it. It does so only once it has a connection,
            including TLS: the service cannot have billed a failure before that, whatever it is.
        status, fields: the status and the headers of the response; None before they have arrived.
        body: what has arrived of its body, as it came.
    """

    method: str
    url: httpx.URL
    headers: Sequence[Field]
    content: bytes
    begun: bool = False
    status: int | None = None
    fields: Sequence[Field] = ()
    body: bytearray = field(default_factory=bytearray)


class _Connection(asyncio.Protocol):
    """A connection to a server, for a single exchange; make it in its event loop.

    HTTP/1.1 does not say which request a response belongs to. On a second exchange, a late copy of
    the first answer could not be told from the second one.
    """

    def __init__(self) -> None:
        self._got = bytearray()
        self._is_first = True
        self._arrived = asyncio.Event()
        self._ended = False
        self._error: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop has its own class

    def data_received(self, data: bytes) -> None:
        if self._is_first:
            data = data.lstrip(b"\r\n")  # h11 reads no line end before a response
            self._is_first = not data
        self._got += data
        if data:
            self._arrived.set()

    def eof_received(self) -> None:
        self._ended = True
        self._arrived.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._error = error
        self.eof_received()

    def close(self) -> None:
        """Close the connection, whatever it does."""
        self._ended = True
        self._transport.abort()

    async def send(
        self, exchange: Exchange, most: int, target: bytes, more: Sequence[Field] = ()
    ) -> None:
        """Send a request for a target, with more headers; see `HttpTransport.send`."""
        head = _head(exchange.method, target, [*exchange.headers, *more])
        exchange.begun = True
        response = await self._ask(ANY_REQUEST, head + exchange.content)
        exchange.status, exchange.fields = response.status_code, response.headers.raw_items()
        while len(exchange.body) <= most and isinstance(event := await self._event(), h11.Data):
            exchange.body += event.data

    async def open_tunnel(
        self, service: httpx.URL, headers: Sequence[Field], tls: ssl.SSLContext
    ) -> None:
        """Let the proxy at the other end connect to a service, and speak TLS with that.

        Raises:
            OSError: there is no such connection.
        """
        host, port = service.raw_host.decode("ascii"), service.port or DEFAULT_PORTS["https"]
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        target = authority.encode()
        fields = [(b"Host", target), (b"User-Agent", b"tender-pipeline"), *headers]
        response = await self._ask(ANY_CONNECT, _head("CONNECT", target, fields))
        if not 200 <= response.status_code <= 299:
            raise ConnectionError(f"the proxy refuses to connect, HTTP {response.status_code}")
        if self._got or self._parser.trailing_data[0]:
            raise BrokenResponseError
        secured = None
        with suppress(ConnectionError, TypeError):  # this is asyncio's, at a proxy asked over TLS
            secured = await asyncio.get_running_loop().start_tls(
                self._transport, self, tls, server_hostname=host.rstrip(".")
            )
        if secured is None or secured.is_closing():  # this is uvloop's, at such a proxy
            raise ConnectionResetError("the connection was closed before TLS began")
        self._transport = secured

    async def _ask(self, kind: h11.Request, request: bytes) -> h11.Response:
        """Send a request, and return the head of its response."""
        self._parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        self._parser.send(kind)
        self._is_first = True
        self._transport.write(request)
        for _ in range(MOST_HEADS):
            if isinstance(event := await self._event(), h11.Response):
                return event
        raise BrokenResponseError

    async def _event(self) -> Any:
        try:
            while (event := self._parser.next_event()) is h11.NEED_DATA:
                self._parser.receive_data(await self._read())
        except h11.RemoteProtocolError as error:
            raise (ConnectionError if self._ended else BrokenResponseError) from error
        return event

    async def _read(self) -> bytes:
        """Return what has arrived since the last time; nothing at the end of the connection.

        Raises:
            OSError: the connection broke.
        """
        if not self._got and not self._ended:
            self._arrived.clear()
            await self._arrived.wait()
        if not self._got and self._error is not None:
            raise self._error
        data = bytes(self._got[:PORTION])
        del self._got[:PORTION]
        return data


def _head(method: str, target: bytes, headers: Sequence[Field]) -> bytes:
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    return b"%b %b HTTP/1.1\r\n%b\r\n" % (method.encode(), target, lines)


DEFAULT_PORTS: Final = {"http": 80, "https": 443}

NEXT_ADDRESS_S: Final = 0.25
"""Seconds without an answer after which a host's next address is tried as well (RFC 8305)."""

ADDRESSES_KEPT_S: Final = 10.0
"""For so many seconds, a host is not looked up again: each lookup takes a thread."""


class ProxyError(ConnectionError):
    """There is no connection to the proxy; the cause says why."""


class HttpTransport:
    """Sends requests to one host: through a proxy, if the environment names one.

    Each request has a connection of its own, which is closed after the response. So what a server
    sends too late or too often is never read as the answer to another request.

    Args:
        service: any address at the host.

    Raises:
        SettingsError: the proxy cannot be used.
    """

    def __init__(self, service: httpx.URL) -> None:
        self._service, self._proxy = service, proxy_of(service)
        peer = self._proxy or service
        self._host = peer.raw_host.decode("ascii")
        self._port = peer.port or DEFAULT_PORTS[peer.scheme]
        self._secure = peer.scheme == "https"
        self._context: ssl.SSLContext | None = None
        self._addresses: Sequence[AddrInfoType] = ()
        self._looked_up_at = 0.0

    async def send(self, exchange: Exchange, most: int) -> None:
        """Send a request, and read its response until its body has more than ``most`` bytes.

        No redirects are followed, no cookies are kept, and nothing is decompressed.

        Raises:
            OSError: the response is not complete.
        """
        connection = await self._connect()
        try:
            if self._proxy is None:
                await connection.send(exchange, most, exchange.url.raw_path)
            elif self._service.scheme == "https":
                await connection.open_tunnel(self._service, _for_proxy(self._proxy), self._tls())
                await connection.send(exchange, most, exchange.url.raw_path)
            else:
                whole = str(exchange.url).encode("ascii")
                await connection.send(exchange, most, whole, _for_proxy(self._proxy))
        finally:
            connection.close()

    async def _connect(self) -> _Connection:
        """Connect to one of the host's addresses."""
        now = asyncio.get_running_loop().time()
        try:
            if not self._addresses or now > self._looked_up_at + ADDRESSES_KEPT_S:
                self._addresses = await _look_up(self._host, self._port)
                self._looked_up_at = now
            return await self._open_connection()
        except OSError as error:
            self._addresses = ()  # the host may have moved
            if self._proxy:
                raise ProxyError from error
            raise

    def _tls(self) -> ssl.SSLContext:
        self._context = self._context or httpx.create_ssl_context()
        return self._context

    async def _open_connection(self) -> _Connection:
        connection = _Connection()
        connected = await aiohappyeyeballs.start_connection(
            self._addresses, happy_eyeballs_delay=NEXT_ADDRESS_S
        )
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: connection,
                sock=connected,
                ssl=self._tls() if self._secure else None,
                server_hostname=self._host.rstrip(".") if self._secure else None,
            )
        except BaseException:
            connected.close()
            raise
        return connection


async def _look_up(host: str, port: int) -> Sequence[AddrInfoType]:
    """Return the addresses of a host.

    The event loop's own lookups run in its executor. Before asyncio closes a loop, it waits for
    all of them, although nobody can end one, and in an outage each takes a minute or longer.
    """
    addresses: Future[Any] = Future()
    addresses.set_running_or_notify_cancel()  # only the thread ends it, even if nobody waits

    def look_up() -> None:
        try:
            addresses.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # it may be about the encoding of the name, too
            addresses.set_exception(error)

    Thread(target=look_up, daemon=True).start()
    return await asyncio.wrap_future(addresses)


def _for_proxy(proxy: httpx.URL) -> list[Field]:
    """Return the header for a proxy alone, with the user and password in its address, if any."""
    if not proxy.userinfo:
        return []
    secret = b64encode(f"{proxy.username}:{proxy.password}".encode())
    return [(b"Proxy-Authorization", b"Basic " + secret)]


def proxy_of(url: httpx.URL) -> httpx.URL | None:
    """Return the proxy on the way to an address, as the environment names it; None without one.

    What is sent to this machine unencrypted stays on it: a proxy could read the key.

    Raises:
        SettingsError: the proxy cannot be used.
    """
    local = url.scheme == "http" and is_this_machine(url.host)
    names = (url.host, url.netloc.decode("ascii"))  # NO_PROXY may name a port
    direct = local or any(map(proxy_bypass, names)) or _matches_no_proxy(url.host)
    proxies = {} if direct else getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named:
        return None
    with suppress(httpx.InvalidURL):
        proxy = httpx.URL(named if "://" in named else f"http://{named}")
        if proxy.scheme in ("http", "https") and proxy.host:
            return proxy
    raise SettingsError(  # the proxy is not quoted: it may contain a password
        f"The environment names a proxy for {url.scheme}://{url.host} that cannot be used.",
        f"Set {url.scheme.upper()}_PROXY to an address such as http://proxy.example:3128, or name "
        "the host in NO_PROXY.",
    )


def _matches_no_proxy(host: str) -> bool:
    """Return whether NO_PROXY has a pattern for a host in a form that urllib does not know.

    These are ``*.example.com``, ``*`` in a list, and networks of addresses such as ``10.0.0.0/8``.
    """
    patterns = [pattern.strip() for pattern in getproxies().get("no", "").split(",")]
    suffixes = tuple(pattern[1:].lower() for pattern in patterns if pattern.startswith("*."))
    networks = (pattern for pattern in patterns if "/" in pattern)
    return "*" in patterns or host.endswith(suffixes) or any(_is_in(host, net) for net in networks)


def _is_in(host: str, network: str) -> bool:
    with suppress(ValueError):  # one of them is a name
        return ip_address(host) in ip_network(network, strict=False)
    return False
