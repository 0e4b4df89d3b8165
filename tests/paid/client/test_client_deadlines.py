"""Time limits on a clock that jumps: what a stopped process finds in its sockets is read first."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import httpx
import pytest

from pipeline.paid.client.client import Client, Deadlines
from pipeline.paid.client.outcomes import Lost, Received, Reply
from pipeline.paid.client.urls import canonical
from tests.paid.client.virtual_time import VirtualTimeLoop, run


def stop_process(seconds: float) -> None:
    """Let the clock go on while nothing of the process runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    loop.pass_over(seconds)


async def took(seconds: float, limit: float) -> float:
    """Return how long a block of some seconds took under a limit; -1 if it was cancelled."""
    deadlines, loop = Deadlines(limit), asyncio.get_running_loop()
    began = loop.time()
    try:
        with deadlines.limited():
            await asyncio.sleep(seconds)
    except TimeoutError:
        assert limit <= loop.time() - began <= limit * 1.6
        return -1
    return loop.time() - began


@pytest.mark.parametrize("limit", [0.2, 3.0, 60.0])
def test_a_block_is_ended_soon_after_its_time_is_over(limit: float) -> None:
    assert run(took(limit * 0.95, limit)) == pytest.approx(limit * 0.95, abs=0.01)
    assert run(took(limit * 3, limit)) == -1


def test_blocks_that_begin_later_end_later() -> None:
    async def main() -> list[float]:
        deadlines, loop = Deadlines(10.0), asyncio.get_running_loop()
        began, ends = loop.time(), []

        async def block(after: float) -> None:
            await asyncio.sleep(after)
            with pytest.raises(TimeoutError), deadlines.limited():
                await asyncio.sleep(1000)
            ends.append(loop.time() - began)

        await asyncio.gather(block(0), block(4), block(30))
        return ends

    assert run(main()) == [pytest.approx(at, abs=0.21) for at in (10.1, 14.1, 40.1)]


def test_a_block_that_ends_slowly_is_cancelled_once() -> None:
    async def main() -> int:
        deadlines, cancelled = Deadlines(1.0), 0
        with pytest.raises(TimeoutError), deadlines.limited():
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                cancelled += 1
                await asyncio.sleep(5)
                raise
        return cancelled

    assert run(main()) == 1


class Peer(httpx.AsyncBaseTransport):
    """A transport whose response is whatever the other end of a socket pair writes."""

    def __init__(self, mine: socket.socket) -> None:
        self._mine = mine

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        async for _ in request.stream:  # type: ignore[union-attr]
            pass
        status = await asyncio.get_running_loop().sock_recv(self._mine, 3)
        return httpx.Response(int(status), stream=_Rest(self._mine))


class _Rest(httpx.AsyncByteStream):
    def __init__(self, mine: socket.socket) -> None:
        self._mine = mine

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := await asyncio.get_running_loop().sock_recv(self._mine, 4):
            yield chunk


@contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    mine, other = socket.socketpair()
    with mine, other:
        mine.setblocking(False)
        yield mine, other


@pytest.mark.parametrize("stopped", [0.9, 6.0, 86_400.0])
def test_an_answer_that_came_while_the_process_was_stopped_is_read(stopped: float) -> None:
    async def main(mine: socket.socket, other: socket.socket) -> Reply:
        base = canonical("http://127.0.0.1:1")
        transport = Peer(mine)
        async with Client(base, "key", timeout=3.0, transport=transport) as client:
            attempt = asyncio.create_task(client.send("cpv", "text"))
            await asyncio.sleep(2.5)
            other.sendall(b"200" + b"the answer in several pieces")
            other.shutdown(socket.SHUT_WR)
            stop_process(stopped)
            return await attempt

    with connected() as (mine, other):
        assert run(main(mine, other)) == Received(200, {}, b"the answer in several pieces")


def test_time_in_which_the_process_was_stopped_does_not_count() -> None:
    async def main(mine: socket.socket, other: socket.socket) -> Reply:
        base = canonical("http://127.0.0.1:1")
        transport = Peer(mine)
        async with Client(base, "key", timeout=3.0, transport=transport) as client:
            attempt = asyncio.create_task(client.send("cpv", "text"))
            await asyncio.sleep(1.0)
            stop_process(6.0)
            await asyncio.sleep(1.5)
            assert not attempt.done()
            return await attempt

    with connected() as (mine, other):
        assert run(main(mine, other)) == Lost("TIMEOUT", "no complete answer in 3 s")
