"""A proxy of the environment, and hosts that are asked directly."""

from __future__ import annotations

import asyncio
import ssl
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


async def test_a_proxy_on_the_way_to_https_sees_neither_key_nor_text(
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
    async with serving(answers, tls) as server, serving(tunnels) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.base)
        reply = await attempt(server.base, "Epaulettes")
    assert isinstance(reply, Received)
    assert server.requests[0][1][b"x-api-key"] == KEY.encode()
    assert passed.startswith(b"CONNECT localhost:")
    assert KEY.encode() not in passed
    assert b"Epaulettes" not in passed


async def test_a_proxy_that_lets_nothing_through_sent_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = b""

    async def forbids(exchange: Exchange) -> None:
        nonlocal seen
        seen = await exchange.reader.readuntil(b"\r\n\r\n")
        await exchange.answer(b"", "403 Forbidden")

    async with serving(forbids) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.base.replace("//", "//user:password@"))
        reply = await attempt(BaseUrl("https://service.example"))
    assert reply == NotSent("CONNECTION_ERROR", "ClientHttpProxyError")
    assert seen.startswith(b"CONNECT service.example:443 ")
    assert KEY.encode() not in seen
