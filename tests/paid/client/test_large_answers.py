"""Answers without end, huge or compressed, are read in little memory."""

from __future__ import annotations

import asyncio
import functools
import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pipeline.paid.client import client
from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import MAX_BODY, Lost, Received, Unreadable
from pipeline.paid.client.responses import read_response
from tests.paid.client.scripted_server import KEY, OK, Exchange, Script, answers, attempt, serving
from tests.paid.client.virtual_time import pass_time

pytestmark = pytest.mark.anyio


@contextmanager
def little_memory() -> Iterator[None]:
    """Assert that what is allocated within, at any moment, is a few bodies of the largest size."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 8 * MAX_BODY
    finally:
        tracemalloc.stop()


def floods_with(head: bytes, flood: bytes) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.raw(head)
        while True:
            await exchange.raw(flood)
            await pass_time(0.005)

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
            reply = await attempt(server.base)
    assert isinstance(reply, Lost)


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

    async with serving(floods) as server, Client(server.base, KEY) as opened:
        with little_memory():
            reply = await opened.send("cpv", "one")
        await asyncio.wait_for(gone.wait(), 5)
    assert isinstance(reply, Received)
    assert reply.status == 200
    assert len(reply.body) == MAX_BODY + 1
    assert isinstance(read_response(reply.status, reply.headers, reply.body), Unreadable)
    assert sent < 52428800


async def test_a_body_of_just_the_bound_is_whole_and_one_byte_more_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(answers) as server:
        monkeypatch.setattr(client, "MAX_BODY", len(OK))
        whole = await attempt(server.base)
        monkeypatch.setattr(client, "MAX_BODY", len(OK) - 2)
        cut = await attempt(server.base)
    assert isinstance(whole, Received)
    assert isinstance(cut, Received)
    assert (whole.body, cut.body) == (OK, OK[:-1])


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
        ("GZIP", lambda: gzip.compress(b"{}"), lambda: b"{}"),
        ("identity, gzip", lambda: blanks(1), lambda: blanks(0)),
        ("gzip", lambda: blanks(2), lambda: blanks(1)),
        ("br", lambda: b"any", lambda: b"any"),
        ("gzip, unheard-of", lambda: b"any", lambda: b"any"),
    ],
)
async def test_what_is_compressed_is_unpacked_in_little_memory(
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
