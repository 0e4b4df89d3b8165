"""What a request must say of its body, and how much of it is read."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.http.messages import MAX_BODY
from tests.service.conftest import SCRIPTED, Caller, envelope

pytestmark = pytest.mark.anyio

ROAD = b'{"description": "road"}'


async def posted(
    accounts: Accounts, content: bytes | AsyncIterator[bytes], headers: list[tuple[str, str]]
) -> httpx.Response:
    client = Caller(create_app(accounts, SCRIPTED)).client
    return await client.post("/api/cpv/match", content=content, headers=headers)


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; charset=utf8; version=1",
        "application/json;",
    ],
)
async def test_a_request_carries_the_json_media_type(accounts: Accounts, media_type: str) -> None:
    response = await posted(accounts, ROAD, [("Content-Type", media_type)])
    assert response.status_code == 200


@pytest.mark.parametrize(
    "media_types",
    [
        ["text/plain"],
        ["application/x-www-form-urlencoded"],
        ["application/jsonx"],
        ["application/problem+json"],
        ["application/json, application/json"],
        ["application"],
        ["*/*"],
        [""],
        [],
        ["application/json", "application/json"],
        ["application/json; version=" + 256 * "1"],
    ],
)
async def test_any_other_media_type_is_refused(accounts: Accounts, media_types: list[str]) -> None:
    response = await posted(accounts, ROAD, [("Content-Type", one) for one in media_types])
    assert envelope(response) == (415, "VALIDATION_ERROR")
    assert response.json()["message"].endswith("Send it with Content-Type: application/json.")


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-16", '"utf-8', "us-ascii", "", "\u00fc"])
async def test_another_charset_is_refused(accounts: Accounts, charset: str) -> None:
    stated = f"application/json; charset={charset}".encode()
    client = Caller(create_app(accounts, SCRIPTED)).client
    response = await client.post(
        "/api/cpv/match", content=ROAD, headers=[(b"Content-Type", stated)]
    )
    assert envelope(response) == (415, "VALIDATION_ERROR")
    assert "not UTF-8. Send it with" in response.json()["message"]


@pytest.mark.parametrize("codings", [["gzip"], ["GZIP"], ["br"], ["identity", "gzip"], ["?"]])
async def test_a_compressed_body_is_refused_with_how_to_send_it(
    accounts: Accounts, codings: list[str]
) -> None:
    stated = [("Content-Encoding", coding) for coding in codings]
    response = await posted(
        accounts, gzip.compress(ROAD), [("Content-Type", "application/json"), *stated]
    )
    assert envelope(response) == (415, "VALIDATION_ERROR")
    assert "compressed. Send it uncompressed." in response.json()["message"]
    assert response.headers["Accept-Encoding"] == "identity"


async def test_a_body_may_be_said_to_be_as_it_is(accounts: Accounts) -> None:
    stated = [("Content-Type", "application/json"), ("Content-Encoding", "identity")]
    assert (await posted(accounts, ROAD, stated)).status_code == 200


async def test_a_body_is_read_no_further_than_its_bound(accounts: Accounts) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 65_536
            yield b" " * 65_536

    response = await posted(accounts, endless(), [("Content-Type", "application/json")])
    assert envelope(response) == (413, "VALIDATION_ERROR")
    assert "262,144 bytes at most" in response.json()["message"]
    assert read <= MAX_BODY + 65_536


@pytest.mark.parametrize("length", [MAX_BODY + 1, 10**18, 10**5_000 - 1], ids=["1", "18", "5000"])
async def test_a_body_that_says_it_is_too_large_is_not_read_at_all(
    accounts: Accounts, length: int
) -> None:
    stated = str(length) if length < 10**4_000 else "9" * 5_000
    status, read = await raw(accounts, [(b"content-length", stated.encode())], [ROAD])
    assert (status, read) == (413, 0)


async def test_a_body_of_just_the_bound_is_read(accounts: Accounts) -> None:
    body = ROAD.ljust(MAX_BODY)
    assert (await posted(accounts, body, [("Content-Type", "application/json")])).status_code == 200
    response = await posted(accounts, body + b" ", [("Content-Type", "application/json")])
    assert response.status_code == 413


async def test_a_body_in_pieces_is_one_body(accounts: Accounts) -> None:
    pieces = [ROAD[place : place + 1] for place in range(len(ROAD))]
    assert await raw(accounts, [], pieces) == (200, len(ROAD))


async def raw(
    accounts: Accounts, headers: list[tuple[bytes, bytes]], pieces: list[bytes]
) -> tuple[int, int]:
    """Send pieces of a body; return the status and how many were read."""
    statuses: list[int] = []
    waiting: Iterator[bytes] = iter(pieces)
    read = 0

    async def receive() -> dict[str, object]:
        nonlocal read
        piece = next(waiting, None)
        if piece is None:
            return {"type": "http.disconnect"}
        read += 1
        return {"type": "http.request", "body": piece, "more_body": read < len(pieces)}

    async def send(message: dict[str, int]) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": "/api/cpv/match",
        "raw_path": b"/api/cpv/match",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), *headers],
        "client": None,
    }
    await create_app(accounts, SCRIPTED)(scope, receive, send)  # type: ignore[arg-type]
    (status,) = statuses
    return status, read
