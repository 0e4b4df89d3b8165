"""Makes one attempt at a call: sends the request and returns its response, or how it failed."""

from __future__ import annotations

import asyncio
import errno
import json
import re
import socket
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final
from urllib.parse import quote

import httpx

from pipeline.answers import SYSTEMS, Match, System
from pipeline.paid.client.exchanges import Body, BrokenResponseError, Field, ProxyError, Response
from pipeline.paid.client.language_model import LanguageModel
from pipeline.paid.client.outcomes import Failure, Lost, NotSent, Received, Reply
from pipeline.paid.client.protocols import Chat, Interface, Question
from pipeline.paid.client.responses import is_surely_free, is_whole
from pipeline.paid.client.statuses import MAX_BODY
from pipeline.paid.client.transport import OverHttpx, Transport
from pipeline.paid.client.urls import BaseUrl, checked_key

__all__ = ["Client", "Deadlines", "Redaction", "cause", "codings", "decompressed"]


LONGEST_BEAT = 0.1
BEATS = 4
"""A time limit has at least this many beats; a short limit has shorter beats."""

STOPPED = 1.0
"""If a beat comes this many seconds late, the process was stopped."""


class Deadlines:
    """Gives every block of asynchronous code the same time limit, in one event loop.

    While a process is stopped (Ctrl-Z, a suspended machine) the clock may continue. Answers that
    arrived meanwhile wait in its sockets; to give them up would mean to pay for them again. So
    time is counted in beats of a timer. A beat that is late because the process was stopped counts
    as if it were on time. A block whose time is over gets one more beat, to read what has arrived.

    Args:
        seconds: how long a block may take; it may take two beats, at most 0.2 s, longer.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._beat = min(LONGEST_BEAT, seconds / BEATS)
        self._ran = 0.0
        self._open: dict[_Limit, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def limited(self) -> _Limit:
        """Limit a block of a task: ``with deadlines.limited()``.

        It raises a `TimeoutError` if the block took too long, and was cancelled.
        """
        if self._timer is None:
            self._next_beat(asyncio.get_running_loop())
        limit = _Limit(self._open)
        self._open[limit] = self._ran + self._seconds
        return limit

    def _next_beat(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._beat, self._on_beat, loop, loop.time())

    def _on_beat(self, loop: asyncio.AbstractEventLoop, last: float) -> None:
        self._timer = None
        if not self._open:
            return
        for limit in [limit for limit, end in self._open.items() if end <= self._ran]:
            del self._open[limit]
            loop.call_soon(limit.expire)  # after the tasks that something has just arrived for
        passed = loop.time() - last
        self._ran += self._beat if passed > self._beat + STOPPED else passed
        self._next_beat(loop)


class _Limit:
    """Cancels the task of its block, like `asyncio.timeout`, which takes several times as long.

    It is in `Deadlines._open` from the beginning of its block to the end, or until it expires.
    """

    __slots__ = ("_cancelling", "_expired", "_open", "_task")

    def __init__(self, open_: dict[_Limit, float]) -> None:
        self._open = open_
        self._expired = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a client sends in a task
        self._task: asyncio.Task[object] | None = task
        self._cancelling = task.cancelling()

    def expire(self) -> None:
        """Cancel the block, if it has not ended."""
        if self._task is not None:
            self._expired = True
            self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.pop(self, None)
        task, self._task = self._task, None
        if not self._expired or task is None:
            return
        # Whoever else cancelled the task meanwhile must see it cancelled.
        if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error


SHORTEST_SECRET: Final = 12
"""Length of the shortest key that is replaced; a shorter one may be part of a word."""

ESCAPED_BY_SOME: Final = re.compile("[\"&'+<>`]")
"""Characters that some JSON encoders escape, as ``\\u003c``."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Replaces a key by asterisks.

    Attributes:
        forms: the key as it is, and as JSON and URLs may write it.
    """

    forms: tuple[bytes, ...]

    @classmethod
    def of(cls, api_key: str | None) -> Redaction:
        """Return the redaction of a key; without a key it replaces nothing."""
        if api_key is None or len(api_key) < SHORTEST_SECRET:
            return cls(())
        found = {*_in_json(api_key), api_key, quote(api_key), quote(api_key, safe="")}
        # The longest first: an escaped form may contain the plain one.
        return cls(tuple(form.encode() for form in sorted(found, key=len, reverse=True)))

    def __call__(self, content: bytes) -> bytes:
        """Return the content without the key, at the same length."""
        for form in self.forms:
            content = content.replace(form, b"*" * len(form))
        return content


def _in_json(key: str) -> set[str]:
    """Return the ways in which JSON may write a key."""
    usual = json.dumps(key)[1:-1]
    cautious = key.replace("\\", "\\\\")
    lower = ESCAPED_BY_SOME.sub(lambda found: f"\\u{ord(found[0]):04x}", cautious)
    upper = ESCAPED_BY_SOME.sub(lambda found: f"\\u{ord(found[0]):04X}", cautious)
    written = {usual, lower, upper}
    return written | {form.replace("/", "\\/") for form in written}


GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
BARE_DEFLATE: Final = -zlib.MAX_WBITS
CODINGS: Final = (b"gzip", b"x-gzip", b"deflate")
MOST_CODINGS: Final = 4
"""The most times that a body is decompressed, whatever its headers say."""

GZIP: Final = b"\x1f\x8b"
MOST_MEMBERS: Final = 100
"""The most members of a gzip body. The bytes after a member are copied each time, so a megabyte of
empty members would take minutes."""


def codings(headers: Sequence[Field]) -> int:
    """Return how often headers say that a body was compressed in a way that `decompressed` knows.

    Every proxy on the way may compress it once more.
    """
    known = [
        coding
        for name, value in headers
        if name.lower() == b"content-encoding"
        for coding in value.split(b",")
        if coding.strip().lower() in CODINGS
    ]
    return min(len(known), MOST_CODINGS)


def decompressed(content: bytes, most: int) -> bytes:
    """Return a body without its compression; unchanged if it has none or is damaged.

    The client asks for no compression, but what was paid for must not be lost. Some servers send
    deflate without its zlib header, and some proxies decompress a body but leave its header.

    Args:
        content: the body as it came.
        most: how many bytes to return at most: a megabyte may hold a gigabyte of spaces.
    """
    try:
        return _members(content, most)
    except zlib.error:
        return _bare(content, most)


def _members(content: bytes, most: int) -> bytes:
    """Decompress gzip, which may have several members, or zlib."""
    found = b""
    for _ in range(MOST_MEMBERS):
        packing = zlib.decompressobj(GZIP_OR_ZLIB)
        found += packing.decompress(content, most - len(found))
        content = packing.unused_data
        if len(found) == most or not content.startswith(GZIP):
            break
    return found


def _bare(content: bytes, most: int) -> bytes:
    packing = zlib.decompressobj(BARE_DEFLATE)
    try:
        found = packing.decompress(content, most)
    except zlib.error:
        return content
    return found if packing.eof and not packing.unused_data else content


KEPT_HEADERS: Final = (
    *(b"date", b"location", b"retry-after", b"retry-after-ms"),
    *(b"x-ratelimit-remaining-requests", b"x-ratelimit-remaining-tokens"),
    *(b"x-ratelimit-reset-requests", b"x-ratelimit-reset-tokens"),
)

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
    """Sends attempts to one deployment of the interface, or to a language model.

    It is an async context manager.

    Args:
        base_url: the address of the deployment, or of the language model's server.
        api_key: the API key; None sends requests without one.
        language_model: the language model; None: the server speaks the interface.
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
        language_model: LanguageModel | None = None,
        timeout: float = 60.0,
        max_body: int = MAX_BODY,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._base_url = base_url
        self._protocol = Chat(language_model) if language_model else Interface()
        self._headers = _headers(base_url, api_key, self._protocol).raw
        self._redacted = Redaction.of(api_key)
        self._timeout = timeout
        self._deadlines = Deadlines(timeout)
        self._max_body = max_body
        self._transport = OverHttpx(transport) if transport else Transport(httpx.URL(base_url))
        url = self._protocol.url
        self._urls = {system: httpx.URL(url(base_url, system)) for system in SYSTEMS}

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._transport.aclose()

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
            reply = await self._reply(self._urls[system], Body(content))
        if isinstance(reply, Received):
            return self._protocol.kept(question, content, reply)
        return reply

    async def _reply(self, address: httpx.URL, body: Body) -> Reply:
        arriving = _Arriving()
        try:
            with self._deadlines.limited():
                return await self._exchange(address, body, arriving)
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
    key = {} if api_key is None else {name: before + checked_key(api_key)}
    return httpx.Headers(headers | key)


def _failed(body: Body, error: Failure, detail: str) -> NotSent | Lost:
    return Lost(error, detail) if body.begun else NotSent(error, detail)
