"""Makes one attempt at a call: sends the request and returns its response, or how it failed."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Sequence
from typing import Final

import httpx

from pipeline.answers import SYSTEMS, System
from pipeline.paid.client.deadlines import Deadlines
from pipeline.paid.client.decompression import codings, decompressed
from pipeline.paid.client.exchanges import Body, BrokenResponseError, Field, ProxyError, Response
from pipeline.paid.client.redaction import Redaction
from pipeline.paid.client.replies import Failure, Lost, NotSent, Received, Reply
from pipeline.paid.client.responses import MAX_BODY, is_surely_free, is_whole
from pipeline.paid.client.transport import OverHttpx, Transport
from pipeline.paid.client.urls import BaseUrl, checked_key, match_url

__all__ = ["Client", "cause"]

KEPT_HEADERS: Final = (b"date", b"location", b"retry-after")
JSON: Final = json.JSONEncoder(ensure_ascii=False)

NOBODY_THERE: Final = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "no route to the host",
    errno.ENETUNREACH: "no network",
    socket.EAI_NONAME: "the name is unknown",
    socket.EAI_AGAIN: "the name cannot be looked up",
}
"""Why no connection was made, by the system's error number."""


def cause(error: BaseException) -> tuple[str, bool]:
    """Return the innermost cause of a failed exchange, and whether nothing answered at all.

    Only the system's text is quoted, which contains no URL.
    """
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, OSError) and (reason := NOBODY_THERE.get(error.errno or 0)):
        return reason, True
    # An error for several addresses of one host has no `strerror`.
    text = error.strerror or str(error) if isinstance(error, OSError) else None
    return (f"{type(error).__name__}: {text}" if text else type(error).__name__), False


class _Arriving:
    """A response of which a part has arrived, perhaps; its body as it came."""

    __slots__ = ("content", "response")

    def __init__(self) -> None:
        self.response: Response | None = None
        self.content = bytearray()


class Client:
    """Sends attempts to one deployment of the interface; an async context manager.

    Args:
        base_url: the address of the deployment.
        api_key: the API key; None sends demo requests.
        timeout: how many seconds an attempt may take, from its start to the last byte, not
            counting the time in which this process was stopped.
        max_body: how many bytes of a response are read; the rest is cut off.
        transport: replaces the network in tests.

    Raises:
        SettingsError: a header cannot carry the key.
    """

    def __init__(
        self,
        base_url: BaseUrl,
        api_key: str | None,
        *,
        timeout: float = 60.0,
        max_body: int = MAX_BODY,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._base_url = base_url
        self._headers = _headers(base_url, api_key).raw
        self._redacted = Redaction.of(api_key)
        self._timeout = timeout
        self._deadlines = Deadlines(timeout)
        self._max_body = max_body
        self._transport = OverHttpx(transport) if transport else Transport(httpx.URL(base_url))
        self._urls = {system: httpx.URL(match_url(base_url, system)) for system in SYSTEMS}

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._transport.aclose()

    async def send(self, system: System, text: str) -> Reply:
        """Make one attempt; a network failure is returned, not raised."""
        body, arriving = Body(b'{"description": %b}' % JSON.encode(text).encode()), _Arriving()
        try:
            with self._deadlines.limited():
                return await self._exchange(self._urls[system], body, arriving)
        except TimeoutError:
            failed = _failed(body, "TIMEOUT", f"no complete answer in {self._timeout:g} s")
            return self._whole(arriving) or failed
        except BrokenResponseError as error:
            return _failed(body, "CONNECTION_ERROR", self._detail(error))
        except (httpx.HTTPError, OSError, ValueError, RuntimeError) as error:
            # asyncio and uvloop raise a RuntimeError for a socket that they cannot use.
            failed = _failed(body, "CONNECTION_ERROR", self._detail(error))
            return self._whole(arriving) or failed

    def _detail(self, error: BaseException) -> str:
        proxy = isinstance(error, ProxyError) and error.unreachable
        reason, nobody_there = cause(error)
        if nobody_there:
            return f"nothing answers at {'the proxy' if proxy else self._base_url} ({reason})"
        return reason

    async def _exchange(self, address: httpx.URL, body: Body, arriving: _Arriving) -> Received:
        headers = [*self._headers, (b"Content-Length", b"%d" % len(body.content))]
        response = await self._transport.exchange("POST", address, headers, body)
        if isinstance(response.body, bytes):
            return self._received(response, response.body)
        stream = response.body
        arriving.response = response
        try:
            async for chunk in stream:
                arriving.content += chunk
                if len(arriving.content) > self._max_body:
                    break
        finally:
            await stream.aclose()
        return self._received(response, bytes(arriving.content))

    def _whole(self, arriving: _Arriving) -> Received | None:
        """Return a response that says enough although its connection broke or never ended.

        Otherwise a paid answer would be lost with the last chunk, which is empty, and a refusal
        that only has a status would count as billed.
        """
        if arriving.response is None:
            return None
        received = self._received(arriving.response, bytes(arriving.content))
        if is_whole(received.body):
            return received
        is_read = not (arriving.content and codings(arriving.response.headers))
        return received if is_read and is_surely_free(received.status, received.body) else None

    def _received(self, response: Response, content: bytes) -> Received:
        for _ in range(codings(response.headers)):
            if len(content) <= self._max_body:
                content = decompressed(content, self._max_body + 1)
        content = self._redacted(content)[: self._max_body + 1]
        return Received(response.status, self._kept(response.headers), content)

    def _kept(self, headers: Sequence[Field]) -> dict[str, str]:
        """Return the headers that matter, as Latin-1, which has a character for every byte.

        Several waits are joined as HTTP does it; of other headers, the last one counts.
        """
        kept: dict[str, str] = {}
        for name, value in headers:
            if (lower := name.lower()) in KEPT_HEADERS:
                key, text = lower.decode("latin-1"), self._redacted(value).decode("latin-1")
                several = key == "retry-after" and key in kept
                kept[key] = f"{kept[key]}, {text}" if several else text
        return kept


def _headers(base_url: BaseUrl, api_key: str | None) -> httpx.Headers:
    headers = {
        "Host": httpx.URL(base_url).netloc.decode(),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Type": "application/json",
        "User-Agent": "tender-pipeline",
    }
    return httpx.Headers(
        headers if api_key is None else headers | {"X-API-Key": checked_key(api_key)}
    )


def _failed(body: Body, error: Failure, detail: str) -> NotSent | Lost:
    return Lost(error, detail) if body.begun else NotSent(error, detail)
