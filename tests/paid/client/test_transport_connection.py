"""Every form of response that HTTP/1.1 allows is read, each on a connection of its own."""

from __future__ import annotations

import asyncio
import signal
import socket

import pytest

from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import Received
from tests.paid.client.scripted_server import KEY, Exchange, Script, answers, attempt, serving

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"


def hangs_up(response: bytes) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.raw(response)

    return script


def holds(response: bytes) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.raw(response)
        await exchange.reader.read()

    return script


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
async def test_a_complete_response_is_read_and_its_connection_closed(
    response: bytes, status: int, body: bytes
) -> None:
    async with serving(holds(response)) as server:
        reply = await attempt(server.base)
        assert isinstance(reply, Received)
        assert (reply.status, reply.body) == (status, body)
        assert server.requests[0][1][b"connection"] == b"close"


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
    "response",
    [OK + b"\r\n{}", b"HTTP/1.0 200 OK\r\n\r\n{}"],
    ids=["1.1", "1.0"],
)
async def test_a_response_may_end_with_its_connection(response: bytes) -> None:
    async with serving(hangs_up(response)) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, Received)
    assert reply.body == b"{}"


@pytest.mark.parametrize("hosts", [["127.0.0.1"], ["127.0.0.2", "127.0.0.1"]])
async def test_the_first_address_of_a_host_that_answers_is_asked(
    hosts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def addresses(_: str, port: int, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in hosts]

    async with serving(answers) as server:
        monkeypatch.setattr(socket, "getaddrinfo", addresses)
        reply = await attempt(server.base)
    assert isinstance(reply, Received)


async def test_every_request_has_a_connection_of_its_own() -> None:
    async with serving(answers) as server, Client(server.base, KEY) as client:
        for text in ("one", "two", "three"):
            assert isinstance(await client.send("cpv", text), Received)
        assert server.connections == 3


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
