"""Time limits on a clock that jumps: what a stopped process finds in its sockets is read first."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from pipeline.paid.client.client import GRACE_S, Client, time_limit
from pipeline.paid.client.outcomes import Received, Reply
from pipeline.paid.client.transport import Exchange
from pipeline.paid.client.urls import canonical
from tests.paid.client.stand_ins import StandIn
from tests.paid.client.virtual_time import VirtualTimeLoop, run


def stop_process(seconds: float) -> None:
    """Let the clock go on while nothing of the process runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    loop.pass_over(seconds)


async def took(seconds: float, limit: float) -> float:
    """Return how long a block of some seconds took under a limit."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    with suppress(TimeoutError):
        async with time_limit(limit):
            await asyncio.sleep(seconds)
    return loop.time() - began


@pytest.mark.parametrize("limit", [0.2, 3.0, 60.0])
def test_a_block_is_ended_soon_after_its_time_is_over(limit: float) -> None:
    assert run(took(limit * 0.95, limit)) == pytest.approx(limit * 0.95, abs=0.01)
    assert run(took(1000, limit)) == pytest.approx(limit + GRACE_S, abs=0.01)


class Peer(StandIn):
    """A transport whose response is whatever the other end of a socket pair writes."""

    def __init__(self, mine: socket.socket) -> None:
        self._mine = mine

    async def send(self, exchange: Exchange, most: int) -> None:
        exchange.begin()
        loop = asyncio.get_running_loop()
        exchange.status = int(await loop.sock_recv(self._mine, 3))
        while chunk := await loop.sock_recv(self._mine, 4):
            exchange.body += chunk


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
