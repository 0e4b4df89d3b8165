"""Whatever a server sends too late or too often, no text gets the answer to another one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import Received, Reply
from pipeline.paid.client.urls import BaseUrl
from tests.paid.client.scripted_server import KEY, Exchange, Script, serving

OK = b"HTTP/1.1 200 OK\r\n"
TEXTS = ("one", "two", "three")


def with_length(body: bytes) -> bytes:
    return OK + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def chunked(body: bytes) -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:3], body[3:]))
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


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
            async with Client(base, KEY, timeout=5.0) as client:
                return [await client.send("cpv", text) for text in TEXTS]
