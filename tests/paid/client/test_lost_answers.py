"""Failures after something was sent, which may lose an answer, and before that: they are free."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import Lost, NotSent, Received, Reply
from pipeline.paid.client.transport import HttpTransport
from pipeline.paid.client.urls import BaseUrl
from pipeline.paid.policy import judge
from tests.paid.client.scripted_server import (
    KEY,
    OK,
    Exchange,
    Script,
    answers,
    attempt,
    drops_after_reading,
    floods_with,
    resets_after_reading,
    says,
    serving,
    silent,
    speaks_no_tls,
    waits,
)
from tests.paid.serving import nobody_there

pytestmark = pytest.mark.anyio


async def drops_at_once(exchange: Exchange) -> None:
    pass


@pytest.mark.parametrize(
    "script",
    [
        drops_at_once,
        drops_after_reading,
        resets_after_reading,
        says(b"HTTP/1.1 200 OK\r\nContent-"),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"),
        says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
        says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{"),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{"),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{"),
        says(b"HTTP/1.1 abc OK\r\n\r\n"),
        says(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 99_999 + b"\r\n\r\n"),
        says(b"SSH-2.0-OpenSSH_9.6\r\n"),
        says(b"\x00" * 999),
        says(b"<html>"),
    ],
)
async def test_a_connection_that_breaks_after_sending_loses_the_answer(script: Script) -> None:
    async with serving(script) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, Lost)
    assert reply.error == "CONNECTION_ERROR"
    assert reply.detail


@pytest.mark.parametrize("end", ["open", "broken"])
@pytest.mark.parametrize("way", ["direct", "proxy"])
@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n%b",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n%b",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n%b",
    ],
)
@pytest.mark.parametrize(
    ("coding", "body"),
    [(b"", OK), (b"Content-Encoding: gzip\r\n", gzip.compress(OK))],
    ids=["plain", "gzip"],
)
async def test_an_answer_that_is_whole_counts_although_its_connection_breaks_or_never_ends(
    head: bytes, coding: bytes, body: bytes, way: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def has_no_end(exchange: Exchange) -> None:
        await exchange.read_request()
        values: tuple[object, ...] = (len(body), body) if b"%x" in head else (body,)
        await exchange.raw(head.replace(b"OK\r\n", b"OK\r\n" + coding) % values)
        if end == "open":
            await waits(exchange)

    async with serving(has_no_end) as server:
        base = server.base
        if way == "proxy":
            monkeypatch.setenv("HTTP_PROXY", base)
            base = BaseUrl("http://upstream.example")
        reply = await attempt(base)
        monkeypatch.setattr("pipeline.paid.client.client.MAX_BODY", 9)
        part = await attempt(base)
    assert isinstance(reply, Received)
    assert (reply.status, reply.body) == (200, OK)
    assert isinstance(part, Received)
    assert part.body == body[:10]


@pytest.mark.parametrize("end", ["open", "broken"])
@pytest.mark.parametrize(
    ("head", "body", "is_free"),
    [
        (b"429 Too Many Requests\r\nRetry-After: 7", b"", True),
        (b"429 Too Many Requests\r\nRetry-After: 7", b"<html>Too many", True),
        (b"402 Payment Required", b"", True),
        (b"401 Unauthorized\r\nContent-Length: 99", b"No", True),
        (b"429 Too Many Requests\r\nContent-Encoding: gzip", b"", True),
        (b"429 Too Many Requests", b'{"success": false, "metadata": ', False),
        (
            b"429 Too Many Requests\r\nContent-Encoding: gzip",
            gzip.compress(b"{}", mtime=0)[:9],
            False,
        ),
        (b"403 Forbidden", b"", False),
        (b"503 Service Unavailable", b"", False),
        (b"200 OK", b"", False),
    ],
)
async def test_a_refusal_without_an_end_is_free_unless_its_body_may_say_otherwise(
    head: bytes, body: bytes, is_free: bool, end: str
) -> None:
    async def never_ends(exchange: Exchange) -> None:
        await exchange.read_request()
        length = b"" if b"Length" in head else b"\r\nTransfer-Encoding: chunked"
        chunk = b"%x\r\n%b\r\n" % (len(body), body) if length and body else body
        await exchange.raw(b"HTTP/1.1 %b%b\r\n\r\n%b" % (head, length, chunk))
        if end == "open":
            await waits(exchange)

    async with serving(never_ends) as server:
        reply = await attempt(server.base)
    if not is_free:
        assert isinstance(reply, Lost)
        return
    assert isinstance(reply, Received)
    assert reply.status == int(head[:3])
    assert reply.headers.get("retry-after") == ("7" if b"Retry" in head else None)
    assert not judge(reply).is_at_risk


@pytest.mark.parametrize(
    "script",
    [
        silent,
        floods_with(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b" "),
        floods_with(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    ],
    ids=["silent", "drips", "drips headers"],
)
async def test_the_timeout_is_for_the_whole_attempt(script: Script) -> None:
    async with serving(script) as server:
        reply = await attempt(server.base)
    assert reply == Lost("TIMEOUT", "no complete answer in 5 s")


async def test_a_cancelled_attempt_is_cancelled_and_closes_its_connection() -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def waits(exchange: Exchange) -> None:
        await exchange.read_request()
        arrived.set()
        await exchange.reader.read()
        gone.set()

    async with serving(waits) as server:
        task = asyncio.create_task(attempt(server.base))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(gone.wait(), 5)


async def test_an_answer_before_the_whole_text_was_read_counts() -> None:
    async def hasty(exchange: Exchange) -> None:
        await exchange.reader.readuntil(b"\r\n\r\n")
        await exchange.answer(b"", "413 Too Large", "Connection: close")
        await exchange.reader.read()

    async with serving(hasty) as server:
        reply = await attempt(server.base, "x" * 9_000_000)
    assert isinstance(reply, Received)
    assert reply.status == 413


async def test_a_refused_connection_sent_nothing() -> None:
    address = nobody_there()
    reply = await attempt(BaseUrl(address))
    found = f"nothing answers at {address} (connection refused)"
    assert reply == NotSent("CONNECTION_ERROR", found)


async def test_a_host_without_an_address_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    reply = await attempt(BaseUrl("http://service.example"))
    found = "nothing answers at http://service.example (the name is unknown)"
    assert reply == NotSent("CONNECTION_ERROR", found)


async def test_plain_http_where_tls_belongs_sent_nothing() -> None:
    async with serving(speaks_no_tls) as server:
        reply = await attempt(BaseUrl(server.base.replace("http:", "https:")))
    assert isinstance(reply, NotSent)
    assert reply.error == "CONNECTION_ERROR"
    assert "SSL" in reply.detail


async def test_a_handshake_that_never_ends_sent_nothing() -> None:
    async with serving(waits) as server:
        address = BaseUrl(server.base.replace("http:", "https:"))
        assert await attempt(address) == NotSent("TIMEOUT", "no complete answer in 5 s")


@pytest.mark.parametrize("fault", ["nobody vouches for it", "another host", "expired"])
async def test_a_certificate_that_is_wrong_gets_nothing(
    fault: str, authority: trustme.CA, request: pytest.FixtureRequest
) -> None:
    if fault != "nobody vouches for it":
        request.getfixturevalue("trusted")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    host = "service.example" if fault == "another host" else "localhost"
    ended = datetime.now(UTC) - timedelta(days=1) if fault == "expired" else None
    authority.issue_cert(host, not_after=ended).configure_cert(context)
    async with serving(answers, context) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, NotSent)
    assert "certificate" in reply.detail
    assert server.requests == []


async def test_an_error_of_the_event_loop_while_connecting_sent_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def send(*_: object) -> None:
        raise RuntimeError("File descriptor 13 is used by transport")

    monkeypatch.setattr(HttpTransport, "send", send)
    reply = await attempt(BaseUrl("http://host"))
    assert reply == NotSent("CONNECTION_ERROR", "RuntimeError")


HEAD = b"HTTP/1.1 200 OK\r\n"
TEXTS = ("one", "two", "three")


def with_length(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def chunked(body: bytes) -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:3], body[3:]))
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def after_hints(body: bytes) -> bytes:
    return b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + with_length(body)


def answer_to(request: bytes) -> bytes:
    return b'{"answer to":"%b"}' % json.loads(request)["description"].encode()


FRAMINGS = st.sampled_from([with_length, chunked, after_hints])
CUTS = st.lists(st.integers(1, 300), max_size=4, unique=True).map(sorted)
UNASKED = st.sampled_from(["nothing", "late copy", "copy", "half a copy", "line end", "garbage"])


def unasked(what: str, answer: bytes) -> bytes:
    """Return what a server sends although nobody asked for it, beside an answer."""
    return {
        "late copy": answer,
        "copy": answer,
        "half a copy": answer[: len(answer) // 2],
        "line end": b"\r\n",
        "garbage": b"\0\xff more",
    }.get(what, b"")


@settings(deadline=None)
@given(
    framing=FRAMINGS,
    cuts=CUTS,
    before=UNASKED,
    behind=UNASKED,
    is_behind_late=st.booleans(),
    proxied=st.booleans(),
)
def test_no_stream_however_cut_and_joined_gives_a_text_the_answer_to_another(
    framing: Callable[[bytes], bytes],
    cuts: list[int],
    before: str,
    behind: str,
    is_behind_late: bool,
    proxied: bool,
) -> None:
    """The server sends the last answer of a connection again, before or behind the next one."""

    async def script(exchange: Exchange) -> None:
        last = b""
        while True:
            await exchange.read_request()
            answer = framing(answer_to(exchange.server.requests[-1][2]))
            stream = (unasked(before, last) if last else b"") + answer
            rest = unasked(behind, answer)
            await in_parts(exchange, stream + (b"" if is_behind_late else rest), cuts)
            if is_behind_late:
                await turns()
                await exchange.raw(rest)
            last = answer

    for text, reply in zip(TEXTS, asyncio.run(replies(script, proxied)), strict=True):
        assert isinstance(reply, Received)
        assert json.loads(reply.body) == {"answer to": text}


async def in_parts(exchange: Exchange, stream: bytes, cuts: list[int]) -> None:
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        if start < len(stream):
            await exchange.raw(stream[start : max(start, end)])
            await turns()


async def turns() -> None:
    """Let the other side read: its turns of the event loop come in between."""
    for _ in range(5):
        await asyncio.sleep(0)


async def replies(script: Script, proxied: bool) -> list[Reply]:
    async with serving(script) as server:
        base = BaseUrl("http://service.example") if proxied else server.base
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("http_proxy", server.base)
            client = Client(base, KEY, timeout=5.0)
            return [await client.send("cpv", text) for text in TEXTS]
