"""Sends httpx's requests over aiohttp's connections, and decompresses their responses."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from yarl import URL

from pipeline.errors import SettingsError

__all__ = ["OverHttpx", "Response", "Transport", "decompressed"]

NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)

PIECE: Final = 1 << 16
"""Bytes decompressed at once: a megabyte may hold a gigabyte of spaces."""

GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
CODINGS: Final = (b"gzip", b"x-gzip", b"deflate")


@dataclass(frozen=True, slots=True)
class Response:
    """A response whose body has not been read: its status, its headers as sent, and its body."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    stream: httpx.AsyncByteStream


class Transport(httpx.AsyncBaseTransport):
    """Sends requests to one host.

    httpx's own pool searches all its connections for each request: with 50 tasks it takes ten
    times the processor time of this one. This transport follows no redirects, keeps no cookies,
    decompresses nothing, and raises aiohttp's exceptions.

    Args:
        url: any address at the host; it decides which proxy of the environment is used.
        connections: the maximum number of requests under way at once.
        keep_alive: how many seconds an idle connection is kept.

    Raises:
        SettingsError: the environment names a proxy that cannot be used.
    """

    def __init__(self, url: httpx.URL, connections: int, keep_alive: float) -> None:
        self._connections = connections
        self._keep_alive = keep_alive
        self._secure = url.scheme == "https"
        self._proxy = _proxy(url)
        self._addresses: dict[bytes, URL] = {}
        self._session: aiohttp.ClientSession | None = None

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; see `exchange`."""
        assert isinstance(request.stream, httpx.AsyncByteStream)  # noqa: S101 - it is not sync
        headers = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        got = await self.exchange(request.method, request.url, headers, request.stream)
        return httpx.Response(got.status, headers=got.headers, stream=got.stream)

    async def exchange(
        self,
        method: str,
        url: httpx.URL,
        headers: Sequence[tuple[str, str]],
        body: httpx.AsyncByteStream,
    ) -> Response:
        """Send a request without httpx's objects for it, which take longer to make than to send.

        The body is read once there is a connection.

        Raises:
            aiohttp.ClientError: there is no response.
            OSError: as above.
        """
        if self._session is None:
            self._session = self._opened()
        response = await self._session.request(
            method,
            self._address(url),
            headers=headers,
            data=body,
            allow_redirects=False,
        )
        return Response(response.status, response.raw_headers, _Content(response))

    def _opened(self) -> aiohttp.ClientSession:
        """Make the session, which needs a running event loop."""
        connector = aiohttp.TCPConnector(
            limit=self._connections,
            keepalive_timeout=self._keep_alive,
            ssl=httpx.create_ssl_context() if self._secure else True,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=NO_TIMEOUT,
            auto_decompress=False,
            proxy=self._proxy,
        )

    def _address(self, url: httpx.URL) -> URL:
        """Return an address as aiohttp's type, from a cache: parsing is slow."""
        if url.raw_path not in self._addresses:
            self._addresses[url.raw_path] = URL(str(url), encoded=True)
        return self._addresses[url.raw_path]


class OverHttpx:
    """Sends requests over any of httpx's transports."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()

    async def exchange(
        self,
        method: str,
        url: httpx.URL,
        headers: Sequence[tuple[str, str]],
        body: httpx.AsyncByteStream,
    ) -> Response:
        """Send a request; see `Transport.exchange`."""
        request = httpx.Request(method, url, headers=list(headers), stream=body)
        got = await self._transport.handle_async_request(request)
        assert isinstance(got.stream, httpx.AsyncByteStream)  # noqa: S101 - it is not sync
        return Response(got.status_code, got.headers.raw, got.stream)


class _Content(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.content.iter_any():
            yield chunk

    async def aclose(self) -> None:
        self._response.release()


def _proxy(url: httpx.URL) -> URL | None:
    proxies = {} if proxy_bypass(url.host) else getproxies()
    named = proxies.get(url.scheme) or proxies.get("all")
    if not named:
        return None
    with suppress(ValueError):
        proxy = URL(named if "://" in named else f"http://{named}")
        if proxy.scheme in ("http", "https") and proxy.host:
            return proxy
    raise SettingsError(  # the proxy is not quoted: it may contain a password
        f"The environment names a proxy for {url.scheme}://{url.host} that cannot be used.",
        f"Set {url.scheme.upper()}_PROXY to an address such as http://proxy.example:3128, or name "
        "the host in NO_PROXY.",
    )


async def decompressed(response: Response) -> AsyncIterator[bytes]:
    """Yield a response's body without its compression, in pieces of a bounded size.

    The client asks for no compression. If a body comes with gzip or deflate nevertheless, it is
    decompressed; with any other coding, or with two, it is passed on as it is.

    Raises:
        httpx.DecodingError: the body is not what its header says.
    """
    if _coding(response.headers) not in CODINGS:
        async for chunk in response.stream:
            yield chunk
        return
    packing = zlib.decompressobj(GZIP_OR_ZLIB)
    async for chunk in response.stream:
        for piece in _pieces(packing, chunk):
            yield piece


def _coding(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return how a body is compressed."""
    named = [value for name, value in headers if name.lower() == b"content-encoding"]
    return b",".join(named).strip().lower()


def _pieces(packing: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    while chunk:
        try:
            yield packing.decompress(chunk, PIECE)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error
        chunk = packing.unconsumed_tail
