"""Finds the proxy that the environment names, and sends requests through it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

import httpx

from pipeline.errors import SettingsError
from pipeline.paid.client.transport import DirectTransport, Exchange, Transport
from pipeline.paid.client.urls import is_this_machine

if TYPE_CHECKING:  # most users have no proxy, and aiohttp takes a fifth of a second to import
    import aiohttp
    from yarl import URL


class ProxyError(ConnectionError):
    """An exchange through a proxy failed; its cause says how.

    Attributes:
        unreachable: whether there is no connection to the proxy itself.
    """

    def __init__(self, unreachable: bool) -> None:
        super().__init__()
        self.unreachable = unreachable


class ProxyTransport:
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

    async def send(self, exchange: Exchange, most: int) -> None:
        """See `Transport.send`."""
        import aiohttp
        from yarl import URL

        if self._session is None:
            self._session = self._open_session()
        try:
            async with self._session.request(
                exchange.method,
                URL(str(exchange.url), encoded=True),
                headers=[(name.decode(), value.decode()) for name, value in exchange.headers],
                data=_content(exchange),
                allow_redirects=False,
            ) as response:
                exchange.status, exchange.fields = response.status, response.raw_headers
                async for chunk in response.content.iter_any():
                    exchange.body += chunk
                    if len(exchange.body) > most:
                        break
        except aiohttp.ClientError as error:
            unreachable = isinstance(error, aiohttp.ClientProxyConnectionError)
            raise ProxyError(unreachable) from error

    def _open_session(self) -> aiohttp.ClientSession:
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


async def _content(exchange: Exchange) -> AsyncIterator[bytes]:
    """Yield the content, for which aiohttp asks once it has a connection."""
    yield exchange.begin()


def transport_to(url: httpx.URL) -> Transport:
    """Return what sends requests to the host of an address: through a proxy, if there is one.

    Raises:
        SettingsError: the environment names a proxy that cannot be used.
    """
    proxy = proxy_of(url)
    return ProxyTransport(proxy, url.scheme == "https") if proxy else DirectTransport(url)


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
