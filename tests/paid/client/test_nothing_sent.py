"""Failures before anything was sent, which cost nothing."""

from __future__ import annotations

import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
import trustme

from pipeline.paid.client.outcomes import NotSent, Received
from pipeline.paid.client.transport import Exchange
from pipeline.paid.client.urls import BaseUrl
from tests.paid.client.scripted_server import (
    answers,
    attempt,
    serving,
    speaks_no_tls,
    waits,
)
from tests.paid.client.stand_ins import StandIn

pytestmark = pytest.mark.anyio


async def test_a_refused_connection_sent_nothing() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        reply = await attempt(BaseUrl(address))
    found = f"nothing answers at {address} (connection refused)"
    assert reply == NotSent("CONNECTION_ERROR", found)


async def test_a_host_without_an_address_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **kwargs: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    reply = await attempt(BaseUrl("http://service.example"))
    found = "nothing answers at http://service.example (the name is unknown)"
    assert reply == NotSent("CONNECTION_ERROR", found)


async def test_addresses_that_fail_for_different_reasons_are_all_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def two(*args: object, **kwargs: object) -> list[tuple[object, ...]]:
        return [
            (family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)
            for family, address in [
                (socket.AF_INET, ("127.0.0.1", unused.getsockname()[1])),
                (socket.AF_INET6, ("fe80::1", 9, 0, 0)),  # no interface: an invalid argument
            ]
        ]

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setattr(socket, "getaddrinfo", two)
        reply = await attempt(BaseUrl("http://service.example"))
    assert isinstance(reply, NotSent)
    assert reply.detail.startswith("OSError: Multiple exceptions: ")


async def test_plain_http_where_tls_belongs_sent_nothing() -> None:
    async with serving(speaks_no_tls) as server:
        reply = await attempt(BaseUrl(server.base.replace("http:", "https:")))
    assert isinstance(reply, NotSent)
    assert reply.error == "CONNECTION_ERROR"
    assert "SSL" in reply.detail


async def test_a_handshake_that_never_ends_sent_nothing() -> None:
    async with serving(waits) as server:
        address = BaseUrl(server.base.replace("http:", "https:"))
        assert await attempt(address) == NotSent("TIMEOUT", "no complete answer in 5 s")


async def test_a_certificate_that_nobody_vouches_for_gets_nothing(tls: ssl.SSLContext) -> None:
    async with serving(answers, tls) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, NotSent)
    assert "certificate verify failed" in reply.detail
    assert server.requests == []


@pytest.mark.parametrize("fault", ["another host", "expired"])
async def test_a_certificate_that_is_not_the_hosts_or_no_longer_valid_gets_nothing(
    fault: str, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ended = datetime.now(UTC) - timedelta(days=1)
    certificate = (
        authority.issue_cert("service.example")
        if fault == "another host"
        else authority.issue_cert("localhost", not_after=ended)
    )
    certificate.configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with serving(answers, context) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, NotSent)
    assert "certificate" in reply.detail
    assert server.requests == []


async def test_an_authority_of_the_users_own_is_trusted(
    tls: ssl.SSLContext,
    authority: trustme.CA,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with serving(answers, tls) as server:
        reply = await attempt(server.base)
    assert isinstance(reply, Received)


async def test_an_error_of_the_event_loop_while_connecting_sent_nothing() -> None:
    class Unusable(StandIn):
        async def send(self, exchange: Exchange, most: int) -> None:
            raise RuntimeError("File descriptor 13 is used by transport")

    reply = await attempt(BaseUrl("http://host"), transport=Unusable(lambda _: httpx.Response(200)))
    assert reply == NotSent("CONNECTION_ERROR", "RuntimeError")
