from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from pipeline.service.http.responses import Cycle

pytestmark = pytest.mark.anyio

BODY = b'{"success": true}'
LENGTH = (b"content-length", b"17")
TYPE = (b"Content-Type", b"application/json")

Headers = list[tuple[bytes, bytes]]


async def _written(
    kind: type[RequestResponseCycle],
    status: int,
    headers: Headers,
    method: str,
    keep: bool,
    cut: bool,
) -> bytes:
    """Return the response as a cycle writes it."""
    written = bytearray()
    cycle = kind(
        scope={"method": method},  # type: ignore[typeddict-item]  # all that it reads
        transport=SimpleNamespace(write=written.extend, close=lambda: written.extend(b"closed")),  # type: ignore[arg-type]
        flow=SimpleNamespace(write_paused=False),  # type: ignore[arg-type]
        logger=None,  # type: ignore[arg-type]
        access_logger=None,  # type: ignore[arg-type]
        access_log=False,
        default_headers=[(b"date", b"Mon, 23 Nov 2026 07:00:00 GMT")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep,
        on_response=lambda: written.extend(b"complete"),
    )
    middle = len(BODY) // 2 if cut else len(BODY)
    start: Any = {"type": "http.response.start", "status": status, "headers": headers}
    await cycle.send(start)
    body = b"" if status == 204 else BODY
    await cycle.send({"type": "http.response.body", "body": body[:middle], "more_body": cut})
    if cut:
        await cycle.send({"type": "http.response.body", "body": body[middle:], "more_body": False})
    return bytes(written)


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("method", ["POST", "HEAD"])
@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, [LENGTH, TYPE, (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2")]),
        (200, [LENGTH, TYPE]),
        (503, [LENGTH, TYPE, (b"connection", b"close")]),
        (200, [TYPE, (b"transfer-encoding", b"chunked")]),
        (200, [TYPE]),
        (200, [(b"Content-Length", b"17"), TYPE]),
        (204, []),
    ],
)
async def test_every_response_is_written_as_uvicorn_writes_it(
    status: int, headers: Headers, method: str, keep: bool, cut: bool
) -> None:
    ours, theirs = [
        await _written(kind, status, headers, method, keep, cut)
        for kind in (Cycle, RequestResponseCycle)
    ]
    assert ours == theirs


@pytest.mark.parametrize("header", [(b"a b", b"c"), (b"a", b"b\r\nc: d")])
async def test_a_header_that_would_split_the_response_is_refused(
    header: tuple[bytes, bytes],
) -> None:
    with pytest.raises(RuntimeError, match="Invalid HTTP header"):
        await _written(Cycle, 200, [LENGTH, header], "POST", True, False)
