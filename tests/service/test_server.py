"""The server: whom it believes where requests come from, what it needs, what it logs."""

from __future__ import annotations

import asyncio
import json
import resource

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from pipeline.engine.model import shipped_model
from pipeline.errors import SettingsError
from pipeline.service import server
from pipeline.service.http.outcomes import ServiceLines
from pipeline.service.http.protocol import MOST_REFUSED
from tests.service.sockets import serving

CANARY = "canary7f3a"


async def told(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that tells where it thinks that a request comes from."""
    body = json.dumps([scope["client"][0], scope["scheme"]]).encode()
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def seen(place: tuple[str, int], *headers: tuple[str, str]) -> list[str]:
    """Return the address and scheme that an application sees of a request."""
    host = f"[{place[0]}]" if ":" in place[0] else place[0]
    with httpx.Client(trust_env=False, timeout=None) as client:
        got: list[str] = client.get(f"http://{host}:{place[1]}", headers=list(headers)).json()
    return got


def test_nobody_is_trusted_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    with serving(told) as place:
        assert seen(place, ("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-Proto", "https")) == [
            "127.0.0.1",
            "http",
        ]
    with serving(told, trusted_proxies=server.networks(["192.0.2.0/24"])) as place:
        assert seen(place, ("X-Forwarded-For", "192.0.2.7")) == ["127.0.0.1", "http"]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], ["127.0.0.1", "http"]),
        ([("X-Forwarded-For", "198.51.100.4")], ["198.51.100.4", "http"]),
        ([("X-Forwarded-For", "2001:db8::4")], ["2001:db8::4", "http"]),
        ([("X-Forwarded-Proto", "https")], ["127.0.0.1", "https"]),
        ([("X-Forwarded-Proto", "gopher")], ["127.0.0.1", "http"]),
        # What the client sent itself comes before what the proxy saw.
        ([("X-Forwarded-For", "gibberish, 1.2.3.4,,198.51.100.4")], ["198.51.100.4", "http"]),
        # Two proxies, one behind the other.
        ([("X-Forwarded-For", "1.2.3.4, 198.51.100.4, 10.1.2.3")], ["198.51.100.4", "http"]),
        ([("X-Forwarded-For", "198.51.100.4, 10.1.2.3, 11.9.9.9")], ["11.9.9.9", "http"]),
    ],
)
def test_a_trusted_proxy_says_where_a_request_comes_from(
    headers: list[tuple[str, str]], expected: list[str]
) -> None:
    trusted = server.networks(["127.0.0.1, 10.0.0.0/8"])
    with serving(told, trusted_proxies=trusted) as place:
        assert seen(place, *headers) == expected


def test_an_ipv4_address_is_one_on_a_socket_for_both_kinds() -> None:
    with serving(told, host="::", trusted_proxies=server.networks(["127.0.0.1"])) as (_, port):
        assert seen(("127.0.0.1", port)) == ["127.0.0.1", "http"]
        assert seen(("127.0.0.1", port), ("X-Forwarded-For", "192.0.2.7"))[0] == "192.0.2.7"
        assert seen(("::1", port), ("X-Forwarded-For", "192.0.2.7"))[0] == "::1"


@pytest.mark.parametrize("name", ["*", "localhost", "10.0.0.1/8", "10.0.0", "10.0.0.0/33", "::1%"])
def test_a_proxy_that_is_not_an_address_is_refused(name: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        server.networks(["127.0.0.1", name])
    assert repr(name) in refusal.value.message
    assert "such as 10.0.0.7" in refusal.value.hint


@pytest.mark.parametrize(
    ("limits", "raised"),
    [((256, resource.RLIM_INFINITY), 750), ((256, 512), 512), ((1024, 4096), 1024)],
)
def test_the_process_may_have_as_many_files_open_as_there_may_be_connections(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], raised: int
) -> None:
    found = [limits]
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda which, to: found.append(to))
    server.make_room()
    assert found[-1] == (raised, limits[1])


def test_the_models_and_refused_connections_leave_some_of_the_other_files() -> None:
    models = len([*shipped_model().path.glob("*.npy")])
    assert models + MOST_REFUSED + 50 < server.OWN_FILES


def test_what_nobody_waits_for_is_logged_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        future = asyncio.get_running_loop().create_future()
        future.set_exception(KeyError(CANARY))
        del future
        await told(scope, receive, send)

    with serving(app) as place:
        seen(place)
    record = next(one for one in caplog.records if one.name == "pipeline.service")
    line = json.loads(ServiceLines().format(record))
    assert line["message"] == "unnoticed: Future exception was never retrieved"
    assert line["traceback"].endswith("builtins.KeyError")
    assert CANARY not in ServiceLines().format(record)
