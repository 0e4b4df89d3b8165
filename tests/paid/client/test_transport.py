from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from base64 import b64encode

import httpx
import pytest

from pipeline.errors import SettingsError
from pipeline.paid.client import transport as transports
from pipeline.paid.client.outcomes import NotSent, Received, Reply
from pipeline.paid.client.transport import proxy_of
from pipeline.paid.client.urls import BaseUrl
from tests.paid.client.scripted_server import KEY, Exchange, Script, answers, attempt, serving
from tests.paid.serving import nobody_there

pytestmark = pytest.mark.anyio


async def posted(address: str) -> transports.Exchange:
    url = httpx.URL(address)
    headers = [(b"Host", url.netloc), (b"Content-Length", b"2")]
    exchange = transports.Exchange("POST", url, headers, b"{}")
    await transports.HttpTransport(url).send(exchange, 99)
    return exchange


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
async def test_a_proxy_on_the_way_to_http_is_named_in_any_of_the_usual_ways(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with serving(answers) as proxy:
        address = proxy.base.removeprefix("http://")
        monkeypatch.setenv(name, f"me:pass%40word@{address}")
        await posted("http://service.example/api")
    ((line, headers, _),) = proxy.requests
    assert line == b"POST http://service.example/api HTTP/1.1"
    assert headers[b"proxy-authorization"] == b"Basic " + b64encode(b"me:pass@word")
    assert headers[b"host"] == b"service.example"


@pytest.mark.parametrize(
    ("pattern", "address", "direct"),
    [
        ("named.example:8000", "http://named.example:8000/api", True),
        ("named.example:8000", "http://named.example:8001/api", False),
        ("[2001:db8::1]:8443", "https://[2001:db8::1]:8443/api", True),
        ("other, *.Example.com", "https://api.example.com", True),
        ("*.example.com", "https://example.org", False),
        ("*.example.com", "https://badexample.com", False),
        ("other, *", "https://example.com", True),
        ("10.0.0.0/8", "http://10.1.2.3:8000", True),
        ("10.0.0.1/8", "http://11.1.2.3", False),
        ("2001:db8::/32", "https://[2001:db8::1]", True),
        ("10.0.0.0/8,example.com/8", "https://api.example.com", False),
        ("", "http://localhost:8000", True),
        ("", "http://127.0.0.1", True),
        ("", "http://[::1]:8000", True),
    ],
)
def test_hosts_patterns_and_networks_of_no_proxy_and_this_machine_need_no_proxy(
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
        proxy_of(httpx.URL("https://service.example"))
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


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"


def holds(response: bytes) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.read_request()
        await exchange.raw(response)
        await exchange.reader.read()

    return script


@pytest.mark.parametrize(
    ("response", "status", "body"),
    [
        (OK + b"content-LENGTH:2 \r\nDate: x\r\n\r\n{}", 200, b"{}"),
        (OK + b"Content-Length: 2\r\nConnection: keep-alive\r\n\r\n{}", 200, b"{}"),
        (b"HTTP/1.1 418 D\xe9j\xe0\r\nContent-Length: 0\r\n\r\n", 418, b""),
        (b"HTTP/1.1 418\r\nContent-Length: 0\r\n\r\n", 418, b""),
        (CHUNKED + b"\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nA: b\r\n\r\n", 200, b"{}"),
        (b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}"),
        (CHUNKED + b"Content-Length: 9\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200, b"{}"),
        (OK + b"A: b\r\n folded\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}"),
        (b"HTTP/1.1 204 Nothing\r\n\r\n", 204, b""),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", 200, b"{}"),
        (OK + b"Content-Length: 2\n\r\n{}", 200, b"{}"),
        (b"\r\n" + OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}"),
        (b"\n" + OK + b"Content-Length: 2\r\n\r\n{}", 200, b"{}"),
        (b"\r\n" + CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n", 200, b"{}"),
    ],
    ids=[
        *("usual", "kept", "not UTF-8", "short", "chunked", "early hints", "both", "folded"),
        "no content",
        *("bare line feeds", "one bare line feed", "after an empty line", "after a line feed"),
        "chunked after an empty line",
    ],
)  # fmt: skip
async def test_a_complete_response_is_read_and_its_connection_closed(
    response: bytes, status: int, body: bytes
) -> None:
    async with serving(holds(response)) as server:
        reply = await attempt(server.base)
        assert isinstance(reply, Received)
        assert (reply.status, reply.body) == (status, body)
        assert server.requests[0][1][b"connection"] == b"close"


@pytest.mark.parametrize("hosts", [["127.0.0.1"], ["127.0.0.2", "127.0.0.1"]])
async def test_the_first_address_of_a_host_that_answers_is_asked(
    hosts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def addresses(_: str, port: int, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in hosts]

    async with serving(answers) as server:
        monkeypatch.setattr(socket, "getaddrinfo", addresses)
        reply = await attempt(server.base)
    assert isinstance(reply, Received)


@pytest.mark.parametrize("to_proxy", ["http", "https"])
async def test_a_proxy_on_the_way_to_https_sees_neither_key_nor_text(
    to_proxy: str,
    tls: ssl.SSLContext,
    trusted: None,
    monkeypatch: pytest.MonkeyPatch,
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


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_not_there_sent_nothing(
    monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", nobody_there().replace("//", "//me:secret@"))
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
        (
            b"HTTP/1.1 200 OK\r\n\r\nand more",
            "ConnectionResetError: the connection was closed before TLS began",
        ),
        (
            b"SSH-2.0-OpenSSH_9.6\r\n",
            "ConnectionError: the response is not HTTP: Expected HTTP/, RTSP/ or ICE/",
        ),
        (b"", "ConnectionError: the connection was closed before the end of the response"),
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


@pytest.mark.parametrize("new_loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("to_proxy", ["http", "https"])
@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("resets", [False, True])
def test_a_proxy_that_hangs_up_before_tls_began_sent_nothing(
    new_loop: str,
    to_proxy: str,
    reads: bool,
    resets: bool,
    tls: ssl.SSLContext,
    trusted: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loops = pytest.importorskip(new_loop)

    async def hangs_up(exchange: Exchange) -> None:
        await exchange.reader.readuntil(b"\r\n\r\n")
        await exchange.raw(b"HTTP/1.1 200 OK\r\n\r\n")
        if reads:
            await exchange.reader.read(100)
        if resets:
            exchange.writer.transport.abort()

    async def asked() -> Reply:
        async with serving(hangs_up, tls if to_proxy == "https" else None) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.base)
            return await attempt(BaseUrl("https://service.example"))

    with asyncio.Runner(loop_factory=loops.new_event_loop) as runner:
        reply = runner.run(asked())
    detail = "ConnectionResetError: the connection was closed before TLS began"
    assert reply == NotSent("CONNECTION_ERROR", detail)
