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

import httptools
import httpx
from aiohappyeyeballs import AddrInfoType, start_connection

from pipeline.errors import SettingsError
from pipeline.paid.client.urls import is_this_machine

MOST_OVERHEAD: Final = 1 << 16
"""Bytes of a response without a part of its body between them: a longer head is an error."""

PORTION: Final = 1 << 14
"""Bytes that the parser gets at once: what is too long is noticed between two portions."""

LENIENT: Final = {
    f"lenient_{what}": True
    for what in ("headers", "chunked_length", "optional_cr_before_lf", "optional_lf_after_cr")
}
"""What was paid for is read although its head has bare line feeds, folded lines, or two statements
of the length. They are dangerous only on a connection with several responses."""

Field: TypeAlias = tuple[bytes, bytes]
"""The name and the value of a header."""


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
    """A connection to a server, for a single exchange.

    HTTP/1.1 does not say which request a response belongs to. On a second exchange, a late copy of
    the first answer could not be told from the second one.
    """

    _exchange: Exchange | None = None  # whose response is awaited: anything else is not read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop has its own class

    def close(self) -> None:
        """Close the connection, whatever it does."""
        self._transport.abort()

    async def send(
        self, exchange: Exchange, most: int, target: bytes, more: Sequence[Field] = ()
    ) -> None:
        """Send a request for a target, with more headers; see `HttpTransport.send`."""
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**LENIENT)
        self._exchange, self._most = exchange, most
        self._fields: list[Field] = []
        self._overhead = 0
        self._read = asyncio.get_running_loop().create_future()
        exchange.begun = True
        if self._transport.is_closing():
            raise ConnectionResetError
        head = _head(exchange.method, target, [*exchange.headers, *more])
        self._transport.write(head + exchange.content)
        await self._read

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
        connect = Exchange("CONNECT", service, fields, b"")
        await self.send(connect, HEAD_ALONE, target)
        if connect.status is None or not 200 <= connect.status <= 299:
            raise ConnectionError(f"the proxy refuses to connect, HTTP {connect.status}")
        secured = None
        with suppress(ConnectionError, TypeError):  # this is asyncio's, at a proxy asked over TLS
            secured = await asyncio.get_running_loop().start_tls(
                self._transport, self, tls, server_hostname=host.rstrip(".")
            )
        if secured is None or secured.is_closing():  # this is uvloop's, at such a proxy
            raise ConnectionResetError("the connection was closed before TLS began")
        self._transport = secured

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PORTION):
            if (exchange := self._exchange) is None:
                return
            portion = data[start : start + PORTION]
            self._overhead += len(portion)
            try:
                self._parser.feed_data(portion)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                self._end(ConnectionError(f"the response is not HTTP: {error}"))
            if exchange.status is not None and len(exchange.body) > self._most:
                self._end()
            elif self._overhead > MOST_OVERHEAD:
                self._end(ConnectionError("the head of the response is too long"))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields.append((name, value.strip()))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._exchange is not None and status >= 200:  # 1xx come before the response
            self._exchange.status, self._exchange.fields = status, self._fields
        self._fields = []

    def on_body(self, part: bytes) -> None:
        if self._exchange is not None:
            self._overhead = 0
            self._exchange.body += part

    def on_message_complete(self) -> None:
        if self._exchange is not None and self._exchange.status is not None:
            self._end()

    def eof_received(self) -> None:
        self.connection_lost(None)

    def connection_lost(self, error: Exception | None) -> None:
        if self._exchange is None:
            return
        framed = any(name.lower() in FRAMING for name, _ in self._exchange.fields)
        if error is None and (framed or self._exchange.status is None):
            error = ConnectionError("the connection was closed before the end of the response")
        self._end(error)

    def _end(self, error: Exception | None = None) -> None:
        """End the reading of a response."""
        self._exchange = None
        if self._read.done():  # nobody waits for it any more
            return
        if error is None:
            self._read.set_result(None)
        else:
            self._read.set_exception(error)


HEAD_ALONE: Final = -1
"""As the bytes of a body to read: none, not even its end."""

FRAMING: Final = (b"content-length", b"transfer-encoding")
"""Headers that say where a body ends; without them, the end of the connection is its end."""


def _head(method: str, target: bytes, headers: Sequence[Field]) -> bytes:
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    return b"%b %b HTTP/1.1\r\n%b\r\n" % (method.encode(), target, lines)


DEFAULT_PORTS: Final = {"http": 80, "https": 443}

NEXT_ADDRESS_S: Final = 0.25
"""Seconds without an answer after which a host's next address is tried as well (RFC 8305)."""

ADDRESS_KEPT_S: Final = 10.0
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
        self._address: tuple[str, int] | None = None
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
        loop = asyncio.get_running_loop()
        try:
            if self._address is None or loop.time() > self._looked_up_at + ADDRESS_KEPT_S:
                self._address = await _find_address(self._host, self._port)
                self._looked_up_at = loop.time()
            _, connection = await loop.create_connection(
                _Connection,
                *self._address,
                ssl=self._tls() if self._secure else None,
                server_hostname=self._host.rstrip(".") if self._secure else None,
            )
        except OSError as error:
            self._address = None  # the host may have moved
            if self._proxy:
                raise ProxyError from error
            raise
        return connection

    def _tls(self) -> ssl.SSLContext:
        self._context = self._context or httpx.create_ssl_context()
        return self._context


async def _find_address(host: str, port: int) -> tuple[str, int]:
    """Return the address of a host, the first of several at which something answers."""
    addresses = await _look_up(host, port)
    if len(addresses) == 1:
        return addresses[0][4][:2]
    with await start_connection(addresses, happy_eyeballs_delay=NEXT_ADDRESS_S) as answered:
        host, port, *_ = answered.getpeername()
    return host, port


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
