from __future__ import annotations

import asyncio
import functools
import gzip
import json
import logging
import socket
import ssl
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from pipeline.errors import SettingsError
from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import Unreadable
from pipeline.paid.client.replies import Lost, NotSent, Received, Reply
from pipeline.paid.client.responses import MAX_BODY, read_response
from pipeline.paid.client.transport import Transport
from pipeline.paid.client.urls import BaseUrl

KEY = "sk_live_0123456789abcdef"
OK = b'{"success":true,"message":"ok","data":[],"metadata":{"cost":{"apiCost":0.0001}}}'

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_proxy_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@dataclass
class Exchange:
    """One connection as a script of the test server sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    server: Server

    async def read_request(self) -> None:
        head = await self.reader.readuntil(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        lower = {name.lower(): value for name, value in fields.items()}
        body = await self.reader.readexactly(int(lower[b"content-length"]))
        self.server.requests.append((head.split(b"\r\n")[0], lower, body))

    async def answer(self, body: bytes = OK, head: str = "200 OK", *fields: str) -> None:
        lines = [f"HTTP/1.1 {head}", f"Content-Length: {len(body)}", *fields]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


@dataclass
class Server:
    """A server on loopback that counts what reaches it."""

    base: BaseUrl
    connections: int = 0
    requests: list[tuple[bytes, dict[bytes, bytes], bytes]] = field(default_factory=list)


Script = Callable[[Exchange], Awaitable[None]]


@asynccontextmanager
async def serving(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server(BaseUrl("http://not.yet"))

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        try:
            await script(Exchange(reader, writer, server))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    server.base = BaseUrl(f"{'https' if tls else 'http'}://localhost:{port}")
    try:
        yield server
    finally:
        listener.close()


async def attempt(base: BaseUrl, text: str = "Seeds", **options: Any) -> Reply:
    async with Client(base, KEY, **{"connections": 1, "timeout": 5.0} | options) as client:
        return await client.send("cpv", text)


async def answers(exchange: Exchange) -> None:
    while True:
        await exchange.read_request()
        await exchange.answer()


@contextmanager
def little_memory() -> Iterator[None]:
    """Assert that what is allocated within, at any moment, is a few bodies of the largest size."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 8 * MAX_BODY
    finally:
        tracemalloc.stop()


async def test_a_request_is_what_the_interface_asks_for() -> None:
    async with serving(answers) as server:
        reply = await attempt(server.base, "Épinards «frais»\n\U0001f96c")
    (line, fields, body), *more = server.requests
    assert not more
    assert line == b"POST /api/cpv/match HTTP/1.1"
    assert fields[b"content-type"] == b"application/json"
    assert fields[b"x-api-key"] == KEY.encode()
    assert b"transfer-encoding" not in fields
    assert json.loads(body.decode()) == {"description": "Épinards «frais»\n\U0001f96c"}
    assert isinstance(reply, Received)
    assert (reply.status, reply.body) == (200, OK)


async def test_a_demo_request_has_no_key() -> None:
    async with serving(answers) as server, Client(server.base, None, connections=1) as client:
        await client.send("naics", "Seeds")
    line, fields, _ = server.requests[0]
    assert line.startswith(b"POST /api/naics/match ")
    assert b"x-api-key" not in fields


async def test_headers_that_matter_come_back_in_lower_case_and_no_others() -> None:
    async def refuses(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.answer(b"", "429 Slow", "RETRY-AFTER: 7", "Set-Cookie: a=b")

    async with serving(refuses) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, Received)
    assert (reply.status, reply.headers) == (429, {"retry-after": "7"})


# Failures before anything was sent.


async def speaks_no_tls(exchange: Exchange) -> None:
    await exchange.reader.read(1)
    await exchange.answer(b"", "400 Bad Request", "Connection: close")


async def test_a_refused_connection_sent_nothing() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
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


async def test_addresses_that_fail_for_different_reasons_are_all_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def two(*args: object, **kwargs: object) -> list[tuple[object, ...]]:
        return [
            (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)
            for family, address in [
                (socket.AF_INET, ("127.0.0.1", unused.getsockname()[1])),
                (socket.AF_INET6, ("fe80::1", 9, 0, 0)),  # no interface: an invalid argument
            ]
        ]

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setattr(socket, "getaddrinfo", two)
        reply = await attempt(BaseUrl("http://service.example"))
    assert isinstance(reply, NotSent)
    assert reply.detail.startswith("OSError: Multiple exceptions: ")


async def test_plain_http_where_tls_belongs_sent_nothing() -> None:
    async with serving(speaks_no_tls) as server:
        reply = await attempt(BaseUrl(server.base.replace("http:", "https:")))
    assert isinstance(reply, NotSent)
    assert reply.error == "CONNECTION_ERROR"
    assert "SSL" in reply.detail


async def test_a_handshake_that_never_ends_sent_nothing() -> None:
    async def stalls(exchange: Exchange) -> None:
        await exchange.reader.read()

    async with serving(stalls) as server:
        address = BaseUrl(server.base.replace("http:", "https:"))
        assert await attempt(address, timeout=0.2) == NotSent(
            "TIMEOUT", "no complete answer in 0.2 s"
        )


async def test_waiting_for_a_free_connection_sent_nothing() -> None:
    arrived = asyncio.Event()

    async def holds(exchange: Exchange) -> None:
        await exchange.read_request()
        arrived.set()
        await exchange.reader.read()

    async with (
        serving(holds) as server,
        Transport(httpx.URL(server.base), connections=1, keep_alive=1) as one,
        Client(server.base, KEY, connections=1, transport=one) as patient,
        Client(server.base, KEY, connections=1, transport=one, timeout=0.1) as hasty,
    ):
        held = asyncio.create_task(patient.send("cpv", "one"))
        await arrived.wait()
        reply = await hasty.send("cpv", "two")
        held.cancel()
        await asyncio.wait([held])
    assert reply == NotSent("TIMEOUT", "no complete answer in 0.1 s")
    assert len(server.requests) == 1


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    return context


async def test_a_certificate_that_nobody_vouches_for_gets_nothing(tls: ssl.SSLContext) -> None:
    async with serving(answers, tls) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, NotSent)
    assert "certificate verify failed" in reply.detail
    assert server.requests == []


@pytest.mark.parametrize("fault", ["another host", "expired"])
async def test_a_certificate_that_is_not_the_hosts_or_no_longer_valid_gets_nothing(
    fault: str, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ended = datetime.now(UTC) - timedelta(days=1)
    certificate = (
        authority.issue_cert("service.example")
        if fault == "another host"
        else authority.issue_cert("localhost", not_after=ended)
    )
    certificate.configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with serving(answers, context) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, NotSent)
    assert "certificate" in reply.detail
    assert server.requests == []


async def test_an_authority_of_the_users_own_is_trusted(
    tls: ssl.SSLContext,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with serving(answers, tls) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, Received)


# Failures after something was sent.


async def drops_at_once(exchange: Exchange) -> None:
    pass


async def drops_after_reading(exchange: Exchange) -> None:
    await exchange.read_request()


async def resets_after_reading(exchange: Exchange) -> None:
    await exchange.read_request()
    exchange.writer.transport.abort()


def says(data: bytes) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.raw(data)

    return script


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


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n%b",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n%b",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n",
    ],
)
@pytest.mark.parametrize("transport", [None, httpx.AsyncHTTPTransport])
@pytest.mark.parametrize(
    ("coding", "body"),
    [(b"", OK), (b"Content-Encoding: gzip\r\n", gzip.compress(OK))],
    ids=["plain", "gzip"],
)
async def test_an_answer_that_is_whole_counts_although_the_connection_breaks_before_its_end(
    head: bytes,
    coding: bytes,
    body: bytes,
    transport: Callable[[], httpx.AsyncBaseTransport] | None,
) -> None:
    values: tuple[object, ...] = (len(body), body) if b"%x" in head else (body,)
    head = head.replace(b"OK\r\n", b"OK\r\n" + coding)
    async with serving(says(head % values)) as server:
        reply = await attempt(server.base, transport=transport and transport())
        part = await attempt(server.base, transport=transport and transport(), max_body=9)
    assert isinstance(reply, Received)
    assert (reply.status, reply.body) == (200, OK)
    assert isinstance(part, Received)
    assert part.body == body[:10]


async def test_a_reason_phrase_that_is_no_utf8_does_not_matter() -> None:
    script = says(b"HTTP/1.1 200 D\xe9j\xe0 vu\r\nContent-Length: 2\r\n\r\n{}")
    async with serving(script) as server, Client(server.base, KEY, connections=1) as client:
        replies = [await client.send("cpv", text) for text in ("one", "two")]
    assert [type(reply) for reply in replies] == [Received, Lost]  # then the server hangs up


async def silent(exchange: Exchange) -> None:
    await exchange.read_request()
    await exchange.reader.read()


async def drips(exchange: Exchange) -> None:
    await exchange.read_request()
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n")
    while True:
        await exchange.raw(b" ")
        await asyncio.sleep(0.01)


async def drips_headers(exchange: Exchange) -> None:
    await exchange.read_request()
    await exchange.raw(b"HTTP/1.1 200 OK\r\n")
    while True:
        await exchange.raw(b"X: y\r\n")
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("script", [silent, drips, drips_headers])
async def test_the_timeout_is_for_the_whole_attempt(script: Script) -> None:
    async with serving(script) as server:
        reply = await attempt(server.base, timeout=0.2)
    assert reply == Lost("TIMEOUT", "no complete answer in 0.2 s")


async def test_a_kept_connection_that_breaks_is_lost_and_never_sent_again_in_secret() -> None:
    async def answers_once(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.answer()
        await exchange.read_request()

    async with serving(answers_once) as server, Client(server.base, KEY, connections=1) as client:
        replies = [await client.send("cpv", text) for text in ("one", "two")]
    assert [type(reply) for reply in replies] == [Received, Lost]
    assert (server.connections, len(server.requests)) == (1, 2)


async def test_a_kept_connection_that_the_server_closed_is_not_used_again() -> None:
    async def answers_and_closes(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.answer()

    async with (
        serving(answers_and_closes) as server,
        Client(server.base, KEY, connections=1) as client,
    ):
        first = await client.send("cpv", "one")
        await asyncio.sleep(0.05)  # the end of the connection is on its way through the kernel
        second = await client.send("cpv", "two")
    assert isinstance(first, Received)
    assert isinstance(second, Received)
    assert (server.connections, len(server.requests)) == (2, 2)


async def test_a_cancelled_attempt_is_cancelled_and_closes_its_connection() -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def waits(exchange: Exchange) -> None:
        await exchange.read_request()
        arrived.set()
        await exchange.reader.read()
        gone.set()

    async with serving(waits) as server, Client(server.base, KEY, connections=1) as client:
        task = asyncio.create_task(client.send("cpv", "one"))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(gone.wait(), 5)


def floods_with(head: bytes, flood: bytes) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.raw(head)
        while True:
            await exchange.raw(flood)

    return script


MANY_HEADERS = b"".join(b"X%d: y\r\n" % place for place in range(5_000))
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "flood"),
    [
        (b"HTTP/1.1 200 OK\r\n", MANY_HEADERS),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y" * 65536),
        (b"HTTP/1.1 200 ", b"y" * 65536),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 99),
        (CHUNKED + b"2;", b"y" * 65536),
        (CHUNKED + b"2\r\n{}\r\n0\r\n", MANY_HEADERS),
    ],
    ids=["headers", "one header", "reason", "continue", "chunk extension", "trailers"],
)
async def test_an_endless_answer_is_lost_in_little_memory(head: bytes, flood: bytes) -> None:
    async with serving(floods_with(head, flood)) as server:
        with little_memory():
            reply = await attempt(server.base, timeout=0.5)
    assert isinstance(reply, Lost)


# Bodies.


async def test_a_huge_body_is_cut_off_and_its_connection_closed() -> None:
    sent, gone = 0, asyncio.Event()

    async def floods(exchange: Exchange) -> None:
        nonlocal sent
        await exchange.read_request()
        await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 52428800\r\n\r\n")
        try:
            for _ in range(800):
                await exchange.raw(b" " * 65536)
                sent += 65536
        finally:
            gone.set()

    async with serving(floods) as server, Client(server.base, KEY, connections=1) as client:
        with little_memory():
            reply = await client.send("cpv", "one")
        await asyncio.wait_for(gone.wait(), 5)
    assert isinstance(reply, Received)
    assert reply.status == 200
    assert len(reply.body) == MAX_BODY + 1
    assert isinstance(read_response(reply.status, reply.headers, reply.body), Unreadable)
    assert sent < 52428800


async def test_a_body_of_just_the_bound_is_whole_and_one_byte_more_shows() -> None:
    async with serving(answers) as server:
        whole = await attempt(server.base, max_body=len(OK))
        cut = await attempt(server.base, max_body=len(OK) - 2)
    assert isinstance(whole, Received)
    assert isinstance(cut, Received)
    assert (whole.body, cut.body) == (OK, OK[:-1])


async def test_a_compressed_body_is_unpacked_and_a_broken_one_is_kept_as_it_came() -> None:
    bodies = [gzip.compress(OK), b"this is no gzip", gzip.compress(b" " * 52428800)]

    async def compresses(exchange: Exchange) -> None:
        for body in bodies:
            await exchange.read_request()
            await exchange.answer(body, "200 OK", "Content-Encoding: gzip")

    async with serving(compresses) as server, Client(server.base, KEY, connections=1) as client:
        replies = [await client.send("cpv", "one") for _ in bodies]
    assert [reply.status for reply in replies if isinstance(reply, Received)] == [200] * 3
    assert [len(reply.body) for reply in replies if isinstance(reply, Received)] == [
        len(OK), len(b"this is no gzip"), MAX_BODY + 1
    ]  # fmt: skip


@functools.cache
def blanks(times: int) -> bytes:
    """Return 50 MB of blanks, compressed so many times."""
    return gzip.compress(blanks(times - 1)) if times else b" " * 52428800


@pytest.mark.parametrize(
    ("coding", "body", "kept"),
    [
        ("gzip", lambda: blanks(1), lambda: blanks(0)),
        ("x-gzip", lambda: blanks(1), lambda: blanks(0)),
        ("deflate", lambda: zlib.compress(blanks(0)), lambda: blanks(0)),
        ("gzip, gzip", lambda: blanks(2), lambda: blanks(2)),
        ("gzip", lambda: blanks(2), lambda: blanks(1)),
        ("br", lambda: b"any", lambda: b"any"),
        ("gzip, unheard-of", lambda: blanks(1), lambda: blanks(1)),
    ],
)
async def test_what_is_compressed_is_unpacked_once_and_in_little_memory(
    coding: str, body: Callable[[], bytes], kept: Callable[[], bytes]
) -> None:
    sent, wanted = body(), kept()  # made before the memory is measured

    async def compresses(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.answer(sent, "200 OK", f"Content-Encoding: {coding}")

    async with serving(compresses) as server:
        with little_memory():
            reply = await attempt(server.base)
    assert isinstance(reply, Received)
    assert reply.body == wanted[: MAX_BODY + 1]


async def test_an_answer_before_the_whole_text_was_read_counts() -> None:
    async def hasty(exchange: Exchange) -> None:
        await exchange.reader.readuntil(b"\r\n\r\n")
        await exchange.answer(b"", "413 Too Large", "Connection: close")
        await exchange.reader.read()

    async with serving(hasty) as server:
        reply = await attempt(server.base, "x" * 9_000_000)
    assert isinstance(reply, Received)
    assert reply.status == 413


# The key.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_the_key_does_not_travel(status: int) -> None:
    async with serving(answers) as elsewhere:

        async def redirects(exchange: Exchange) -> None:
            await exchange.read_request()
            location = f"Location: {elsewhere.base}/api/cpv/match"
            await exchange.answer(b"", f"{status} Elsewhere", location)

        async with serving(redirects) as server:
            reply = await attempt(server.base)
        assert isinstance(reply, Received)
        assert (reply.status, reply.headers["location"]) == (
            status, f"{elsewhere.base}/api/cpv/match"
        )  # fmt: skip
        assert (elsewhere.connections, len(server.requests)) == (0, 1)


async def test_the_key_stands_in_no_repr_log_or_reply(caplog: pytest.LogCaptureFixture) -> None:
    async def repeats(exchange: Exchange) -> None:
        await exchange.read_request()
        location = f"Location: https://elsewhere/login?key={KEY}"
        await exchange.answer(f'{{"message":"{KEY} is not valid"}}'.encode(), "401 No", location)

    caplog.set_level(logging.DEBUG)
    async with serving(repeats) as server, Client(server.base, KEY, connections=1) as client:
        reply = await client.send("cpv", "one")
        shown = repr(client)
    async with serving(drops_after_reading) as server:
        lost = await attempt(server.base)
    assert isinstance(reply, Received)
    assert reply.body == b'{"message":"' + b"*" * len(KEY) + b' is not valid"}'
    assert reply.headers["location"] == "https://elsewhere/login?key=" + "*" * len(KEY)
    assert KEY not in f"{shown}{reply}{lost}{caplog.text}{caplog.records}"


def test_a_key_that_no_header_carries_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="API key"):
        Client(BaseUrl("http://localhost"), "two words", connections=1)


# The pool, and what stands in for it.


async def test_no_more_connections_are_open_than_asked_for() -> None:
    open_now = peak = 0

    async def counts(exchange: Exchange) -> None:
        nonlocal open_now, peak
        open_now += 1
        peak = max(peak, open_now)
        try:
            await answers(exchange)
        finally:
            open_now -= 1

    async with serving(counts) as server, Client(server.base, KEY, connections=3) as client:
        replies = await asyncio.gather(*(client.send("cpv", str(n)) for n in range(30)))
    assert all(isinstance(reply, Received) for reply in replies)
    assert (peak, server.connections, len(server.requests)) == (3, 3, 30)


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(answers) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base)
        reply = await attempt(BaseUrl("http://service.example"))
    assert isinstance(reply, Received)
    assert proxy.requests[0][0] == b"POST http://service.example/api/cpv/match HTTP/1.1"


async def test_a_host_of_no_proxy_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(answers) as proxy, serving(answers) as server:
        monkeypatch.setenv("ALL_PROXY", proxy.base)
        monkeypatch.setenv("NO_PROXY", "elsewhere.example,localhost")
        await attempt(server.base)
        await attempt(BaseUrl("http://service.example"))
    assert len(server.requests) == 1
    assert [line.split()[1] for line, _, _ in proxy.requests] == [
        b"http://service.example/api/cpv/match"
    ]


async def test_a_proxy_on_the_way_to_https_sees_neither_key_nor_text(
    tls: ssl.SSLContext,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    passed = b""

    async def tunnels(exchange: Exchange) -> None:
        nonlocal passed
        head = await exchange.reader.readuntil(b"\r\n\r\n")
        host, port = head.split()[1].decode().split(":")
        far, farther = await asyncio.open_connection(host, int(port))
        await exchange.raw(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal passed
            while data := await reader.read(65536):
                passed += data
                writer.write(data)
            writer.close()

        passed += head
        await asyncio.gather(carry(exchange.reader, farther), carry(far, exchange.writer))

    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with serving(answers, tls) as server, serving(tunnels) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.base)
        reply = await attempt(server.base, "Epaulettes")
    assert isinstance(reply, Received)
    assert server.requests[0][1][b"x-api-key"] == KEY.encode()
    assert passed.startswith(b"CONNECT localhost:")
    assert KEY.encode() not in passed
    assert b"Epaulettes" not in passed


async def test_a_proxy_that_lets_nothing_through_sent_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = b""

    async def forbids(exchange: Exchange) -> None:
        nonlocal seen
        seen = await exchange.reader.readuntil(b"\r\n\r\n")
        await exchange.answer(b"", "403 Forbidden")

    async with serving(forbids) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.base.replace("//", "//user:password@"))
        reply = await attempt(BaseUrl("https://service.example"))
    assert reply == NotSent("CONNECTION_ERROR", "ClientHttpProxyError")
    assert seen.startswith(b"CONNECT service.example:443 ")
    assert KEY.encode() not in seen


async def test_a_transport_can_stand_in_for_the_network() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        return httpx.Response(418, content=request.content)

    reply = await attempt(BaseUrl("http://host"), transport=httpx.MockTransport(handle))
    assert isinstance(reply, Received)
    assert (reply.status, reply.body) == (418, b'{"description": "Seeds"}')


async def test_an_error_of_the_event_loop_while_connecting_sent_nothing() -> None:
    class Unusable(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise RuntimeError("File descriptor 13 is used by transport")

    reply = await attempt(BaseUrl("http://host"), transport=Unusable())
    assert reply == NotSent("CONNECTION_ERROR", "RuntimeError")


@pytest.mark.parametrize("script", [drops_after_reading, resets_after_reading, silent])
async def test_what_is_lost_does_not_depend_on_the_transport(script: Script) -> None:
    async with serving(script) as server:
        reply = await attempt(server.base, timeout=0.2, transport=httpx.AsyncHTTPTransport())
    assert isinstance(reply, Lost)


async def test_what_was_not_sent_does_not_depend_on_the_transport() -> None:
    async with serving(speaks_no_tls) as server:
        address = BaseUrl(server.base.replace("http:", "https:"))
        reply = await attempt(address, transport=httpx.AsyncHTTPTransport())
    assert isinstance(reply, NotSent)
