from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import aclosing

import httpx
import pytest

from pipeline.errors import SettingsError
from pipeline.paid.client import transport as transports
from pipeline.paid.client.transport import Transport, proxy_of, transport_to
from tests.paid.client.scripted_server import answers, serving

pytestmark = pytest.mark.anyio


async def posted(address: str) -> transports.Exchange:
    async with aclosing(transport_to(httpx.URL(address))) as transport:
        return await _post(transport, address)


async def _post(transport: Transport, address: str) -> transports.Exchange:
    url = httpx.URL(address)
    headers = [(b"Host", url.netloc), (b"Content-Length", b"2")]
    exchange = transports.Exchange("POST", url, headers, b"{}")
    await transport.send(exchange, 99)
    return exchange


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
async def test_a_proxy_is_named_in_any_of_the_usual_ways(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with serving(answers) as proxy:
        monkeypatch.setenv(name, proxy.base.removeprefix("http://"))
        await posted("http://service.example/api")
    assert proxy.requests[0][0] == b"POST http://service.example/api HTTP/1.1"


@pytest.mark.parametrize(
    "address",
    [
        "http://named.example:8000/api",
        "https://[2001:db8::1]:8443/api",
        "http://localhost:8000",
        "http://127.0.0.1",
        "http://[::1]:8000",
    ],
)
def test_a_host_and_port_of_no_proxy_and_this_machine_need_no_proxy(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "named.example:8000,[2001:db8::1]:8443")
    assert proxy_of(httpx.URL(address)) is None
    assert proxy_of(httpx.URL("http://named.example:8001/api")) is not None


@pytest.mark.parametrize(
    ("pattern", "address", "direct"),
    [
        ("other, *.Example.com", "https://api.example.com", True),
        ("*.example.com", "https://example.org", False),
        ("*.example.com", "https://badexample.com", False),
        ("other, *", "https://example.com", True),
        ("10.0.0.0/8", "http://10.1.2.3:8000", True),
        ("10.0.0.1/8", "http://11.1.2.3", False),
        ("2001:db8::/32", "https://[2001:db8::1]", True),
        ("10.0.0.0/8,example.com/8", "https://api.example.com", False),
    ],
)
def test_patterns_and_networks_in_no_proxy_count(
    monkeypatch: pytest.MonkeyPatch, pattern: str, address: str, direct: bool
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", pattern)
    assert (proxy_of(httpx.URL(address)) is None) == direct


@pytest.mark.parametrize("proxy", ["socks5://me:secret@proxy:1080", "http://", "http://proxy:port"])
def test_a_proxy_that_cannot_be_used_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(SettingsError, match="HTTPS_PROXY") as caught:
        transport_to(httpx.URL("https://service.example"))
    assert "secret" not in str(caught.value)


def test_a_lookup_that_never_ends_does_not_hold_up_a_cancelled_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, let_go = threading.Event(), threading.Event()

    def dead(*_: object, **__: object) -> None:
        begun.set()
        let_go.wait(30)
        raise socket.gaierror("there is no network")

    async def cancelled() -> None:
        asking = asyncio.create_task(posted("http://service.example"))
        while not begun.is_set():
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    monkeypatch.setattr(socket, "getaddrinfo", dead)
    run = threading.Thread(target=lambda: asyncio.run(cancelled()))
    run.start()
    run.join(5)
    ended = not run.is_alive()
    let_go.set()
    run.join()
    assert ended, "closing the event loop waited for the lookup"


async def test_a_name_that_cannot_be_encoded_is_an_error_and_not_awaited_for_ever() -> None:
    async with asyncio.timeout(5):
        with pytest.raises(UnicodeError):
            await posted(f"http://{'a' * 64}.example")


@pytest.mark.parametrize("others", [[], [("fe80::2", 8000, 0, 7)]], ids=["alone", "one of two"])
async def test_the_zone_of_a_link_local_address_is_kept(
    monkeypatch: pytest.MonkeyPatch, others: list[tuple[object, ...]]
) -> None:
    tried = []

    async def look_up(*_: object) -> list[tuple[object, ...]]:
        found = [("fe80::1", 8000, 0, 7), *others]
        return [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", address) for address in found]

    async def connect(_: socket.socket, address: object) -> None:
        tried.append(address)
        raise OSError("nobody is there")

    monkeypatch.setattr(transports, "_look_up", look_up)
    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", connect)
    with pytest.raises(OSError, match="nobody is there"):
        await posted("http://printer.example:8000")
    assert tried == [("fe80::1", 8000, 0, 7), *others]
