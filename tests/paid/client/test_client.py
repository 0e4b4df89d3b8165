"""One attempt: what is sent, what comes back, and what becomes of the key."""

from __future__ import annotations

import asyncio
import functools
import gzip
import json
import logging
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.paid.client import client
from pipeline.paid.client.client import (
    SHORTEST_SECRET,
    Client,
    decompress,
    forms_of,
    redact,
)
from pipeline.paid.client.outcomes import MAX_BODY, Lost, Received, Unreadable
from pipeline.paid.client.responses import read_response
from tests.paid.client.scripted_server import (
    KEY,
    OK,
    Exchange,
    answers,
    attempt,
    drops_after_reading,
    floods_with,
    serving,
)

pytestmark = pytest.mark.anyio


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


async def test_the_key_is_in_no_repr_log_or_reply(caplog: pytest.LogCaptureFixture) -> None:
    async def repeats(exchange: Exchange) -> None:
        await exchange.read_request()
        location = f"Location: https://elsewhere/login?key={KEY}"
        await exchange.answer(f'{{"message":"{KEY} is not valid"}}'.encode(), "401 No", location)

    caplog.set_level(logging.DEBUG)
    async with serving(repeats) as server:
        client = Client(server.base, KEY)
        reply = await client.send("cpv", "one")
        shown = repr(client)
    async with serving(drops_after_reading) as server:
        lost = await attempt(server.base)
    assert isinstance(reply, Received)
    assert reply.body == b'{"message":"' + b"*" * len(KEY) + b' is not valid"}'
    assert reply.headers["location"] == "https://elsewhere/login?key=" + "*" * len(KEY)
    assert KEY not in f"{shown}{reply}{lost}{caplog.text}{caplog.records}"


BODY = b'{"success": true, "data": []}' * 9
MOST = 1 << 20


@pytest.mark.parametrize(
    ("content", "most", "body"),
    [
        (gzip.compress(BODY), MOST, BODY),
        (gzip.compress(BODY) + b"padding", MOST, BODY),
        (zlib.compress(BODY), MOST, BODY),
        (BODY, MOST, BODY),
        (gzip.compress(b" " * 20), 11, b" " * 11),
        # What cannot be decompressed is kept as it came.
        (b"", MOST, b""),
        (b"\x1f\x8bdamaged", MOST, b"\x1f\x8bdamaged"),
    ],
    ids=lambda _: "",  # a compressed body has the time in it
)
def test_an_answer_is_read_in_each_form_that_its_coding_may_have(
    content: bytes, most: int, body: bytes
) -> None:
    assert decompress(content, most) == body


def test_of_a_body_that_is_cut_off_the_beginning_is_read() -> None:
    assert BODY.startswith(decompress(gzip.compress(BODY)[:-9], MOST))


KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=SHORTEST_SECRET)


@given(KEYS)
def test_a_key_is_blotted_out_as_it_is_in_json_and_in_addresses(key: str) -> None:
    forms = forms_of(key)
    escaped = json.dumps(key)[1:-1]
    for form in (key, escaped, escaped.replace("/", "\\/"), quote(key), quote(key, safe="")):
        assert redact(b"<" + form.encode() + b">", forms) == b"<" + b"*" * len(form) + b">"


@pytest.mark.parametrize(
    "form", [r"a\u003cb\u003ec\u0026d\u002be/f", r"a\u003Cb\u003Ec\u0026d\u002Be\/f"]
)
def test_a_key_is_blotted_out_as_json_for_web_pages_has_it(form: str) -> None:
    key = "a<b>c&d+e/f" + "0" * SHORTEST_SECRET
    assert json.loads(f'"{form}"') + "0" * SHORTEST_SECRET == key
    said = (form + "0" * SHORTEST_SECRET).encode()
    assert redact(said, forms_of(key)) == b"*" * len(said)


@pytest.mark.parametrize("key", [None, "short"])
def test_no_key_and_one_that_may_be_a_word_change_nothing(key: str | None) -> None:
    assert redact(b"a short title", forms_of(key)) == b"a short title"


@contextmanager
def little_memory() -> Iterator[None]:
    """Assert that what is allocated within, at any moment, is a few bodies of the largest size."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 8 * MAX_BODY
    finally:
        tracemalloc.stop()


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
        (CHUNKED + b"1\r\n{\r\n0\r\n", MANY_HEADERS),
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

    async with serving(floods) as server:
        with little_memory():
            reply = await attempt(server.base)
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
