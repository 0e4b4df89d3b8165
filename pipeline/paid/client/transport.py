"""Carries httpx's requests over aiohttp's connections, which take a fraction of the processor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx
from yarl import URL

from pipeline.errors import SettingsError

__all__ = ["Transport"]

NO_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=None)


class Transport(httpx.AsyncBaseTransport):
    """Sends requests to one host.

    httpx's own pool looks through all its connections for each request: with 50 tasks it takes
    ten times the processor time of this. Nothing is followed, kept (cookies) or unpacked here, and
    what goes wrong is raised as aiohttp says it.

    Args:
        url: any address at the host; what the environment says of proxies is looked up for it.
        connections: how many requests may be under way at once.
        keep_alive: how long an idle connection is kept, seconds.

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
        """Send a request, whose body is taken once there is a connection; see `httpx`.

        Raises:
            aiohttp.ClientError: there is no response.
            OSError: as above.
        """
        if self._session is None:
            self._session = self._opened()
        response = await self._session.request(
            request.method,
            self._address(request.url),
            headers=[(name.decode(), value.decode()) for name, value in request.headers.raw],
            data=request.stream,
            allow_redirects=False,
        )
        return httpx.Response(
            response.status, headers=response.raw_headers, stream=_Content(response)
        )

    def _opened(self) -> aiohttp.ClientSession:
        """Make the session; that takes a running event loop."""
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
        """Return an address as aiohttp wants it; there are few, and reading them takes long."""
        if url.raw_path not in self._addresses:
            self._addresses[url.raw_path] = URL(str(url), encoded=True)
        return self._addresses[url.raw_path]


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
    raise SettingsError(  # without the proxy: it may hold a password
        f"The environment names a proxy for {url.scheme}://{url.host} that cannot be used.",
        f"Set {url.scheme.upper()}_PROXY to an address such as http://proxy.example:3128, or name "
        "the host in NO_PROXY.",
    )
