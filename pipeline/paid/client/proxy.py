"""Finds the proxy that the environment names, and sends requests through it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

import httpx

from pipeline.errors import SettingsError
from pipeline.paid.client.exchanges import Body, Field, ProxyError, Response
from pipeline.paid.client.urls import is_this_machine

if TYPE_CHECKING:  # most users have no proxy, and aiohttp takes a fifth of a second to import
    import aiohttp
    from yarl import URL

__all__ = ["Proxied", "proxy_of"]


class Proxied:
    """Sends requests through a proxy, over aiohttp, each on a connection of its own.

    Args:
        proxy: the proxy.
        secure: whether the service is asked over TLS.
    """

    def __init__(self, proxy: URL, secure: bool) -> None:
        self._proxy = proxy
        self._secure = secure
        self._session: aiohttp.ClientSession | None = None

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def exchange(
        self, method: str, url: httpx.URL, headers: Sequence[Field], body: Body
    ) -> Response:
        """Send a request; see `Transport.exchange`."""
        if self._session is None:
            self._session = self._opened()
        from yarl import URL

        with _translated():
            response = await self._session.request(
                method,
                URL(str(url), encoded=True),
                headers=[(name.decode(), value.decode()) for name, value in headers],
                data=body,
                allow_redirects=False,
            )
        return Response(response.status, response.raw_headers, _Content(response))

    def _opened(self) -> aiohttp.ClientSession:
        """Make the session, which needs a running event loop."""
        import aiohttp

        connector = aiohttp.TCPConnector(
            limit=0,  # the pool has one
            force_close=True,
            ssl=httpx.create_ssl_context() if self._secure else True,
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            proxy=self._proxy,
        )


class _Content(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for chunk in self._response.content.iter_any():
                yield chunk

    async def aclose(self) -> None:
        self._response.release()


@contextmanager
def _translated() -> Iterator[None]:
    """Raise aiohttp's exceptions as `ProxyError`."""
    import aiohttp

    try:
        yield
    except aiohttp.ClientError as error:
        raise ProxyError(isinstance(error, aiohttp.ClientProxyConnectionError)) from error


def proxy_of(url: httpx.URL) -> URL | None:
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
    from yarl import URL

    with suppress(ValueError):
        proxy = URL(named if "://" in named else f"http://{named}")
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
