"""Makes one attempt at a call: sends the request and returns its response, or how it failed."""

from __future__ import annotations

import asyncio
import errno
import json
import re
import socket
import zlib
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

import httpx

from pipeline.answers import SYSTEMS, Match, System
from pipeline.paid.client.language_model import LanguageModel
from pipeline.paid.client.outcomes import MAX_BODY, Failure, Lost, NotSent, Received, Reply
from pipeline.paid.client.protocols import Chat, Interface, Question
from pipeline.paid.client.responses import is_surely_free, is_whole
from pipeline.paid.client.transport import (
    Exchange,
    Field,
    HttpTransport,
    ProxyError,
)
from pipeline.paid.client.urls import BaseUrl

SHORTEST_SECRET: Final = 12
"""Length of the shortest key that is replaced; a shorter one may be part of a word."""

ESCAPED_BY_SOME: Final = re.compile("[\"&'+<>`]")
"""Characters that some JSON encoders escape, as ``\\u003c``."""


def forms_of(api_key: str | None) -> tuple[bytes, ...]:
    """Return a key as it is, and as JSON and URLs may write it; nothing without a key."""
    if api_key is None or len(api_key) < SHORTEST_SECRET:
        return ()
    forms = {*_in_json(api_key), api_key, quote(api_key), quote(api_key, safe="")}
    # The longest first: an escaped form may contain the plain one.
    return tuple(form.encode() for form in sorted(forms, key=len, reverse=True))


def redact(content: bytes, forms: Sequence[bytes]) -> bytes:
    """Return content without the forms of a key, which asterisks replace at the same length."""
    for form in forms:
        content = content.replace(form, b"*" * len(form))
    return content


def _in_json(key: str) -> set[str]:
    """Return the ways in which JSON may write a key."""
    usual = json.dumps(key)[1:-1]
    cautious = key.replace("\\", "\\\\")
    lower = ESCAPED_BY_SOME.sub(lambda match: f"\\u{ord(match[0]):04x}", cautious)
    upper = ESCAPED_BY_SOME.sub(lambda match: f"\\u{ord(match[0]):04X}", cautious)
    written = {usual, lower, upper}
    return written | {form.replace("/", "\\/") for form in written}


COMPRESSED: Final = re.compile(rb"gzip|deflate", re.IGNORECASE)
GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS


def is_compressed(headers: Sequence[Field]) -> bool:
    """Return whether headers say that a body is compressed in a way that `decompress` knows."""
    return any(
        name.lower() == b"content-encoding" and COMPRESSED.search(value) for name, value in headers
    )


def decompress(content: bytes, most: int) -> bytes:
    """Return a body without its compression; unchanged if it has none or is damaged.

    The client asks for no compression, but what was paid for must not be lost. Some proxies
    decompress a body but leave its header.

    Args:
        content: the body as it came.
        most: how many bytes to return at most: a megabyte may hold a gigabyte of spaces.
    """
    try:
        return zlib.decompressobj(GZIP_OR_ZLIB).decompress(content, most)
    except zlib.error:
        return content


KEPT_HEADERS: Final = (b"date", b"location", b"retry-after", b"retry-after-ms")

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


class Client:
    """Sends attempts to one deployment of the interface, or to a language model.

    Args:
        base_url: the address of the deployment, or of the language model's server.
        api_key: the API key, which a header can carry; None sends requests without one.
        language_model: the language model; None: the server speaks the interface.
        timeout: how many seconds an attempt may take, from its start to the last byte.

    Raises:
        SettingsError: the environment names a proxy that cannot be used.
    """

    def __init__(
        self,
        base_url: BaseUrl,
        api_key: str | None,
        *,
        language_model: LanguageModel | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._base_url = base_url
        self._protocol = Chat(language_model) if language_model else Interface()
        self._headers = _headers(base_url, api_key, self._protocol).raw
        self._key_forms = forms_of(api_key)
        self._timeout = timeout
        self._transport = HttpTransport(httpx.URL(base_url))
        url = self._protocol.url
        self._urls = {system: httpx.URL(url(base_url, system)) for system in SYSTEMS}

    async def send(self, system: System, text: str, candidates: tuple[Match, ...] = ()) -> Reply:
        """Make one attempt; a network failure is returned, not raised.

        Args:
            system: the classification system.
            text: the text.
            candidates: what a language model chooses from; without any, nothing is sent to it.
        """
        question = Question(system, text, candidates)
        content = self._protocol.content(question)
        if content is None:
            reply: Reply = Received(204, {}, b"")
        else:
            reply = await self._reply(self._urls[system], content)
        if isinstance(reply, Received):
            return self._protocol.response_to_keep(question, content, reply)
        return reply

    async def _reply(self, address: httpx.URL, content: bytes) -> Reply:
        headers = [*self._headers, (b"Content-Length", b"%d" % len(content))]
        exchange = Exchange("POST", address, headers, content)
        error: Failure = "CONNECTION_ERROR"
        try:
            async with asyncio.timeout(self._timeout):
                await self._transport.send(exchange, MAX_BODY)
            return self._received(exchange, exchange.status or 0)
        except TimeoutError:
            error, detail = "TIMEOUT", f"no complete answer in {self._timeout:g} s"
        except (httpx.HTTPError, OSError, ValueError, RuntimeError) as failure:
            # asyncio and uvloop raise a RuntimeError for a socket that they cannot use.
            detail = self._detail(failure)
        failed = Lost(error, detail) if exchange.begun else NotSent(error, detail)
        return self._salvaged_response(exchange) or failed

    def _detail(self, error: BaseException) -> str:
        reason, nobody_there = cause(error)
        if nobody_there:
            where = "the proxy" if isinstance(error, ProxyError) else self._base_url
            return f"nothing answers at {where} ({reason})"
        return reason

    def _salvaged_response(self, exchange: Exchange) -> Received | None:
        """Return a response that says enough although its connection broke or never ended.

        Otherwise a paid answer would be lost with the last chunk, which is empty, and a refusal
        that only has a status would count as billed.
        """
        if exchange.status is None:
            return None
        received = self._received(exchange, exchange.status)
        if is_whole(received.body):
            return received
        is_read = not (exchange.body and is_compressed(exchange.fields))
        return received if is_read and is_surely_free(received.status, received.body) else None

    def _received(self, exchange: Exchange, status: int) -> Received:
        content = bytes(exchange.body)
        if is_compressed(exchange.fields) and len(content) <= MAX_BODY:
            content = decompress(content, MAX_BODY + 1)
        content = redact(content, self._key_forms)[: MAX_BODY + 1]
        return Received(status, self._kept_headers(exchange.fields), content)

    def _kept_headers(self, headers: Sequence[Field]) -> dict[str, str]:
        """Return the headers that matter, as Latin-1, which has a character for every byte."""
        return {
            lower.decode("latin-1"): redact(value, self._key_forms).decode("latin-1")
            for name, value in headers
            if (lower := name.lower()) in KEPT_HEADERS
        }


def _headers(base_url: BaseUrl, api_key: str | None, protocol: Interface) -> httpx.Headers:
    headers = {
        "Host": httpx.URL(base_url).netloc.decode(),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Type": "application/json",
        "User-Agent": "tender-pipeline",
    }
    name, before = protocol.key_header
    key = {} if api_key is None else {name: before + api_key}
    return httpx.Headers(headers | key)
