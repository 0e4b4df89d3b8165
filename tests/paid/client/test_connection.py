"""Every form of response that HTTP/1.1 allows is read, and its connection is used again or not."""

from __future__ import annotations

import asyncio
import signal
import time
from types import SimpleNamespace

import pytest

from pipeline.paid.client.client import Client
from pipeline.paid.client.replies import Lost, Received
from pipeline.paid.client.urls import BaseUrl
from tests.paid.client.scripted_server import KEY, Exchange, answers, attempt, serving

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"


def impatient(base: BaseUrl) -> Client:
    return Client(base, KEY, connections=1, timeout=5.0)


async def asked_twice(response: bytes, hang_up: bool = False) -> tuple[list[Received | Lost], int]:
    """Return what two attempts in a row got from a server, and how many connections they made."""

    async def script(exchange: Exchange) -> None:
        while True:
            await exchange.read_request()
            await exchange.raw(response)
            if hang_up:
                return

    async with serving(script) as server, impatient(server.base) as client:
        replies = []
        for text in ("one", "two"):
            reply = await client.send("cpv", text)
            assert isinstance(reply, Received | Lost)
            replies.append(reply)
            await asyncio.sleep(0.01)  # what follows the response arrives
    return replies, server.connections


@pytest.mark.parametrize(
    ("response", "status", "body"),
    [
        (OK + b"content-LENGTH:2 \r\nDate: x\r\n\r\n{}", 200, b"{}"),
        (OK + b"Content-Length: 2\r\nConnection: keep-alive\r\n\r\n{}", 200, b"{}"),
        (b"HTTP/1.1 418\r\nContent-Length: 0\r\n\r\n", 418, b""),
        (CHUNKED + b"\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nA: b\r\n\r\n", 200, b"{}"),
        (b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}"),
        (OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}"),
        (OK + b"A: b\r\n folded\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}"),
        (b"HTTP/1.1 204 Nothing\r\n\r\n", 204, b""),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", 200, b"{}"),
        (OK + b"Content-Length: 2\n\r\n{}", 200, b"{}"),
        (b"\r\n" + OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}"),
        (b"\n" + OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}"),
        (b"\r\n" + CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n", 200, b"{}"),
    ],
    ids=[
        *("usual", "kept", "short", "chunked", "early hints", "twice", "folded", "no content"),
        *("bare line feeds", "one bare line feed", "after an empty line", "after a line feed"),
        "chunked after an empty line",
    ],
)  # fmt: skip
async def test_a_complete_response_leaves_its_connection_open(
    response: bytes, status: int, body: bytes
) -> None:
    replies, connections = await asked_twice(response)
    assert [(each.status, each.body) for each in replies if isinstance(each, Received)] == [
        (status, body)
    ] * 2
    assert connections == 1


async def test_a_header_with_many_spaces_does_not_stop_everything() -> None:
    async def spaced(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.answer(b"{}", "200 OK", f"Location:\t {value} \t")

    def stop(*_: object) -> None:
        raise TimeoutError

    value = f"one{' ' * 60_000}two"
    async with serving(spaced) as server:
        old = signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, 2)  # seconds of processor time
        try:
            reply = await attempt(server.base)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, old)
    assert isinstance(reply, Received)
    assert reply.headers == {"location": value}


@pytest.mark.parametrize(
    ("response", "hang_up"),
    [
        (OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}", False),
        (OK + b"Connection: x\r\nConnection: Close\r\nContent-Length: 2\r\n\r\n{}", False),
        (CHUNKED + b"Connection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n", False),
        (OK + b"Content-Length: 2\r\n\r\n{}more than that", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", False),
        (OK + b"\r\n{}", True),
    ],
    ids=["close", "twice", "chunked", "too much", "1.0", "until the end"],
)  # fmt: skip
async def test_another_connection_follows_a_response_that_ends_it(
    response: bytes, hang_up: bool
) -> None:
    replies, connections = await asked_twice(response, hang_up)
    assert [each.body for each in replies if isinstance(each, Received)] == [b"{}"] * 2
    assert connections == 2


async def test_a_connection_whose_request_was_not_read_is_not_used_again() -> None:
    async def hasty(exchange: Exchange) -> None:
        await exchange.reader.readuntil(b"\r\n\r\n")
        await exchange.answer()
        await asked.wait()

    asked = asyncio.Event()
    async with serving(hasty) as server, impatient(server.base) as client:
        for text in ("x" * 9_000_000, "one"):
            assert isinstance(await client.send("cpv", text), Received)
        asked.set()
        await asyncio.sleep(0)  # the server's tasks end
        assert server.connections == 2


@pytest.mark.parametrize(("answered", "lost"), [(1, 1), (20, 2)])
@pytest.mark.parametrize("more", [b"", b"more\r\n\r\n"], ids=["closes", "sends more"])
async def test_connections_are_kept_unless_the_server_often_spoils_them(
    answered: int, lost: int, more: bytes
) -> None:
    async def spoils(exchange: Exchange) -> None:
        for _ in range(answered):
            await exchange.read_request()
            await exchange.answer()
        await exchange.reader.read(1)
        if more:
            await exchange.raw(more)
            await exchange.reader.read()

    async with serving(spoils) as server, Client(server.base, KEY, connections=1) as client:
        replies = [await client.send("cpv", "one") for _ in range(2 * (answered + 1))]
    assert sum(isinstance(reply, Lost) for reply in replies) == lost


@pytest.mark.parametrize(
    ("unasked", "connections", "warnings"),
    [(OK + b"Content-Length: 2\r\n\r\n{}", 5, 1), (b"\r\n", 2, 0), (b"more", 2, 0)],
    ids=["response", "empty line", "not HTTP"],
)
async def test_after_a_response_that_nobody_asked_for_no_connection_is_used_twice(
    unasked: bytes, connections: int, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The next one might be taken for the answer to another text."""
    idle, sent = asyncio.Event(), asyncio.Event()

    async def answers_once_more(exchange: Exchange) -> None:
        for _ in range(16):
            await exchange.read_request()
            await exchange.answer()
        await idle.wait()
        await exchange.raw(unasked)
        sent.set()
        await exchange.reader.read()

    async with serving(answers_once_more) as server, impatient(server.base) as client:
        for number in range(20):
            assert isinstance(await client.send("cpv", "one"), Received)
            if number == 15:
                idle.set()
                await sent.wait()
                await asyncio.sleep(0.01)  # it arrives
        assert server.connections == connections
    assert len(caplog.records) == warnings


@pytest.mark.parametrize(("too_soon", "connections"), [(60.0, 4), (0.0, 2)])
@pytest.mark.parametrize("more", [b"", b"more"], ids=["ends", "gets more"])
async def test_a_connection_that_ends_or_gets_more_after_some_idle_time_does_not_count(
    too_soon: float, more: bytes, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.paid.client.transport.TOO_SOON_S", too_soon)
    idle, first = asyncio.Event(), True

    async def spoils_the_first(exchange: Exchange) -> None:
        nonlocal first
        await exchange.read_request()
        await exchange.answer()
        if not first:
            await answers(exchange)
        first = False
        await idle.wait()
        if more:
            await exchange.raw(more)
            await exchange.reader.read(1)

    async with serving(spoils_the_first) as server, impatient(server.base) as client:
        for text in ("one", "two", "three", "four"):
            assert isinstance(await client.send("cpv", text), Received)
            idle.set()
            await asyncio.sleep(0.01)  # what follows the response arrives
        assert server.connections == connections


@pytest.mark.parametrize(
    "response",
    [
        OK + b"Content-Length: 2\r\n\r\n{}",
        CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n",
    ],
    ids=["usual", "chunked"],
)
async def test_a_response_may_come_byte_by_byte(response: bytes) -> None:
    async def dribbles(exchange: Exchange) -> None:
        await exchange.read_request()
        for at in range(len(response)):
            await exchange.raw(response[at : at + 1])
            await asyncio.sleep(0)

    async with serving(dribbles) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, Received)
    assert (reply.status, reply.body) == (200, b"{}")


async def test_no_connection_from_before_the_machine_slept_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept = [0.0]
    clock = SimpleNamespace(clock_gettime=lambda _: time.monotonic() + slept[-1])
    monkeypatch.setattr("pipeline.paid.client.transport.time", clock)
    async with serving(answers) as server, impatient(server.base) as client:
        for text in ("one", "two"):
            assert isinstance(await client.send("cpv", text), Received)
        slept.append(3600.0)
        assert isinstance(await client.send("cpv", "three"), Received)
        assert server.connections == 2


async def test_an_idle_connection_is_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.paid.client.client.KEEP_ALIVE", 0.05)
    gone = asyncio.Event()

    async def waits(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.answer()
        await exchange.reader.read()
        gone.set()

    async with serving(waits) as server, Client(server.base, KEY, connections=1) as client:
        assert isinstance(await client.send("cpv", "one"), Received)
        await asyncio.wait_for(gone.wait(), 5)
