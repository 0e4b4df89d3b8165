"""A proxy of the environment, and hosts that are asked directly."""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from pathlib import Path

import pytest
import trustme

from pipeline.paid.client.outcomes import NotSent, Received
from pipeline.paid.client.urls import BaseUrl
from tests.paid.client.scripted_server import KEY, Exchange, answers, attempt, serving

pytestmark = pytest.mark.anyio


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


@pytest.mark.parametrize("to_proxy", ["http", "https"])
async def test_a_proxy_on_the_way_to_https_sees_neither_key_nor_text(
    to_proxy: str,
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
        try:
            await asyncio.gather(carry(exchange.reader, farther), carry(far, exchange.writer))
        finally:
            farther.close()

    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with (
        serving(answers, tls) as server,
        serving(tunnels, tls if to_proxy == "https" else None) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.base.replace("//", "//me:pass%40word@"))
        reply = await attempt(server.base, "Epaulettes")
    assert isinstance(reply, Received)
    (line, headers, _), *_ = server.requests
    assert line == b"POST /api/cpv/match HTTP/1.1"
    assert headers[b"x-api-key"] == KEY.encode()
    assert b"proxy-authorization" not in headers
    assert passed.startswith(b"CONNECT localhost:")
    assert b"Proxy-Authorization: Basic " + b64encode(b"me:pass@word") in passed
    assert KEY.encode() not in passed
    assert b"Epaulettes" not in passed


async def test_a_proxy_on_the_way_to_http_gets_its_user_and_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(answers) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base.replace("//", "//me:pass%40word@"))
        await attempt(BaseUrl("http://service.example"))
    (_, headers, _), *_ = proxy.requests
    assert headers[b"proxy-authorization"] == b"Basic " + b64encode(b"me:pass@word")
    assert headers[b"host"] == b"service.example"


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there_sent_nothing(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ALL_PROXY", f"http://me:secret@127.0.0.1:{unused.getsockname()[1]}")
        reply = await attempt(BaseUrl(f"{scheme}://service.example"))
    found = "nothing answers at the proxy (connection refused)"
    assert reply == NotSent("CONNECTION_ERROR", found)


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        (
            b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n",
            "ConnectionError: the proxy refuses to connect, HTTP 407",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nand more", "BrokenResponseError"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "RemoteProtocolError"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "ConnectionResetError"),
        (b"", "RemoteProtocolError"),
    ],
)
async def test_a_proxy_that_lets_nothing_through_sent_nothing(
    answer: bytes, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = b""

    async def lets_nothing_through(exchange: Exchange) -> None:
        nonlocal seen
        seen = await exchange.reader.readuntil(b"\r\n\r\n")
        await exchange.raw(answer)

    async with serving(lets_nothing_through) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.base.replace("//", "//user:password@"))
        reply = await attempt(BaseUrl("https://[2001:db8::1]"))
    assert reply == NotSent("CONNECTION_ERROR", detail)
    assert seen.startswith(b"CONNECT [2001:db8::1]:443 ")
    assert KEY.encode() not in seen
