"""What the log says of requests, and what it never says."""

from __future__ import annotations

import io
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.answers import SYSTEMS
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.http import outcomes
from pipeline.service.http.outcomes import AccessLog
from tests.service.conftest import SCRIPTED, Answering, Caller, envelope

pytestmark = pytest.mark.anyio

CANARY = "canary7f3a"
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What the whole process logs, from the lowest level on, but for the tests' own client."""
    stream, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(outcomes.ServiceLines())
    monkeypatch.setattr(logging.getLogger("httpx"), "propagate", False)
    every = (root, logging.getLogger("pipeline"), logging.getLogger("pipeline.service"))
    levels = [logger.level for logger in every]  # which a command that ran before may have set
    root.addHandler(handler)
    for logger in every:
        logger.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    for logger, level in zip(every, levels, strict=True):
        logger.setLevel(level)


@pytest.fixture
def lines(written: io.StringIO) -> Lines:
    """The service's lines."""

    def parsed() -> list[dict[str, Any]]:
        every = [json.loads(line) for line in written.getvalue().splitlines()]
        return [line for line in every if line["message"] in ("request", "failed")]

    return parsed


async def test_a_request_is_a_line_of_json(accounts: Accounts, lines: Lines) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED), account.key).match()
    (line,) = lines()
    assert list(line) == [
        *("time", "level", "message", "request", "method", "route", "status", "ms", "bytes"),
        *("address", "account", "system", "price_usd"),
    ]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert line["request"] == response.headers["X-Request-ID"]
    assert (line["method"], line["route"], line["status"]) == ("POST", "/api/cpv/match", 200)
    assert 0 < line["ms"] < 60_000
    assert line["bytes"] == len(response.content)
    assert line["address"] == "192.0.2.1"
    assert line["account"] == account.account_id
    assert line["system"] == "cpv"
    assert line["price_usd"] == "0.0000765"


async def test_what_a_request_has_not_is_left_out(accounts: Accounts, lines: Lines) -> None:
    caller = Caller(create_app(accounts, SCRIPTED))
    await caller.match()  # a demo call, which nobody pays
    await caller.client.get("/unknown")
    await Caller(caller.app, "tp_unknown").match()
    demo, unknown, refused = lines()
    assert "account" not in demo
    assert demo["price_usd"] == "0"
    assert not {"account", "route", "system", "price_usd"} & set(unknown)
    assert unknown["status"] == 404
    assert refused["status"] == 401
    assert not {"account", "price_usd"} & set(refused)


async def test_no_line_has_what_people_send(accounts: Accounts, written: io.StringIO) -> None:
    """A canary is in every part of a request, and in the errors that it causes."""

    def quote(text: str) -> NoReturn:
        raise KeyError(text) from ValueError(f"cannot read {text}")

    app = create_app(accounts, {system: Answering(system, quote) for system in SYSTEMS})
    key = accounts.open().key
    headers = {
        name: f"{CANARY} {name}@example.org"
        for name in (
            *("Cookie", "User-Agent", "Referer", "Authorization", "X-Forwarded-For", "Forwarded"),
            *("X-Request-ID", "Accept", "From", "Origin", "Host"),
        )
    }
    caller, stranger = Caller(app, key), Caller(app, f"tp_{CANARY}")
    odd = Caller(app, address=CANARY)
    bodies: list[Any] = [{"description": CANARY}, {CANARY: 1}, CANARY, [CANARY], {"email": CANARY}]
    statuses, numbers = set(), set()
    for body in bodies:
        for who in (caller, stranger, odd):
            for path in ("/api/cpv/match", f"/{CANARY}", f"/api/{CANARY}/match", "/health"):
                for method in ("POST", "GET", "PUT"):
                    url = f"{path}?key={CANARY}&{CANARY}=1"
                    response = await who.client.request(method, url, json=body, headers=headers)
                    statuses.add(response.status_code)
                    numbers.add(response.headers["X-Request-ID"])
    assert statuses == {200, 400, 401, 404, 405, 500}
    logged = written.getvalue()
    assert logged.count('"message": "request"') == len(numbers) == 180  # whatever they call it
    assert "KeyError" in logged
    assert CANARY not in logged
    assert key not in logged
    assert "example.org" not in logged


async def test_a_request_that_fails_can_be_found_by_the_number_in_its_answer(
    accounts: Accounts, lines: Lines
) -> None:
    app = create_app(accounts, SCRIPTED)
    response = await Caller(app, accounts.open().key).match("not in the script")
    assert envelope(response) == (500, "INTERNAL_ERROR")
    number = response.headers["X-Request-ID"]
    assert response.json()["message"].endswith(f"its log calls this request {number}.")
    failed, request = lines()
    assert failed["request"] == request["request"] == number
    assert failed["level"] == "error"
    assert failed["traceback"].endswith("builtins.KeyError")
    assert "in answers" in failed["traceback"]
    assert (request["status"], request["bytes"]) == (500, len(response.content))


async def test_errors_of_the_machine_are_reported_in_full(lines: Lines) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError(CANARY) from sqlite3.OperationalError("database or disk is full")

    await answered(app)
    told = lines()[0]["traceback"]
    assert "sqlite3.OperationalError: database or disk is full\n" in told
    assert told.endswith("RuntimeError")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/cpv/match", b"application/json"),
        ("/reconcile/cpv", b"application/x-www-form-urlencoded"),
    ],
)
async def test_a_caller_that_leaves_before_the_end_of_its_body_gets_no_status(
    accounts: Accounts, lines: Lines, path: str, kind: bytes
) -> None:
    begun: Message = {"type": "http.request", "body": b"{", "more_body": True}
    parts = iter([begun, {"type": "http.disconnect"}])

    async def receive() -> Message:
        return next(parts)

    async def send(message: Message) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "client": None}
    headers = [(b"host", b"service"), (b"content-type", kind)]
    await create_app(accounts, SCRIPTED)({**scope, "headers": headers}, receive, send)
    (line,) = lines()
    assert line["route"] == path
    assert "status" not in line


async def test_half_an_answer_is_left_to_the_server_to_break_off(lines: Lines) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await answered(app)
    assert [line["message"] for line in lines()] == ["failed", "request"]


async def test_a_well_service_does_not_fill_the_log_with_its_health(
    accounts: Accounts, lines: Lines
) -> None:
    client = Caller(create_app(accounts, SCRIPTED)).client
    assert (await client.get("/health")).json() == {"status": "ok"}
    assert [line["level"] for line in lines()] == ["debug"]
    accounts.close()
    response = await client.get("/health")
    assert envelope(response) == (503, "INTERNAL_ERROR")
    assert [line["level"] for line in lines()] == ["debug", "info"]


def test_an_error_that_many_wait_for_is_logged_with_its_last_frames() -> None:
    error = ValueError()
    for _ in range(100):
        try:
            raise error
        except ValueError:
            pass
    record = logging.makeLogRecord({"msg": "x", "exc_info": (ValueError, error, None)})
    told = json.loads(outcomes.ServiceLines().format(record))["traceback"]
    assert told.count("File ") <= 40


async def answered(app: ASGIApp) -> list[Any]:
    """Return what an application sends to a request that has nothing in it."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async def failed(request: Request) -> Response:
        return Response(status_code=500)

    logged = AccessLog(app, failed)
    await logged({"type": "http", "method": "GET", "client": None}, receive, send)
    return sent


CHROMIUM = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"
    "*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/cpv/match", "POST"),
        ("PATCH", "/api/psc/match", "POST"),
        ("OPTIONS", "/api/cpv/match", "POST"),
        ("BREW", "/api/cpv/match", "POST"),
        ("POST", "/health", "GET, HEAD"),
        ("DELETE", "/login", "GET, HEAD, POST"),
        ("GET", "/logout", "POST"),
    ],
)
async def test_the_answer_to_a_wrong_method_names_the_right_ones(
    accounts: Accounts, method: str, path: str, allowed: str
) -> None:
    client = Caller(create_app(accounts, SCRIPTED)).client
    response = await client.request(method, path, json={"description": "road"})
    assert envelope(response) == (405, "VALIDATION_ERROR")
    assert response.headers["Allow"] == allowed
    said = "Send POST to one of" if path.startswith("/api/") else f"This path takes {allowed}."
    assert said in response.json()["message"]


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "BREW"])
@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/api",
        "/api/ted/match",
        "/api/cpv/match/",
        "//api/cpv/match",
        "/cpv/match",
        "/%ff%00%0d%0a",
        "/nothing?\u00fc",
    ],
)
async def test_an_unknown_path_has_the_envelope(accounts: Accounts, method: str, path: str) -> None:
    client = Caller(create_app(accounts, SCRIPTED)).client
    response = await client.request(method, path, json={"description": "road"})
    assert envelope(response) == (404, "VALIDATION_ERROR")
    assert "Send POST to one of /api/cpv/match, " in response.json()["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("POST", "/health", 405), ("GET", "/api/ted/match", 404)],
)
async def test_a_browser_gets_a_page_outside_the_api(
    accounts: Accounts, method: str, path: str, status: int
) -> None:
    client = Caller(create_app(accounts, SCRIPTED)).client
    response = await client.request(method, path, headers={"Accept": CHROMIUM})
    assert response.status_code == status
    assert response.text.startswith("<!DOCTYPE html>") == (not path.startswith("/api/"))
    assert ("Allow" in response.headers) == (status == 405)
    for accept in ("*/*", "application/json, text/html;q=0.5", ";;q=,,=;"):
        response = await client.request(method, path, headers={"Accept": accept})
        assert envelope(response) == (status, "VALIDATION_ERROR")


async def test_a_page_that_fails_says_so_and_nothing_else(accounts: Accounts) -> None:
    app = create_app(accounts, SCRIPTED)

    async def broken(_: Request) -> Response:
        raise RuntimeError("secret")

    app.add_route("/broken", broken)
    client = Caller(app).client
    shown = await client.get("/broken", headers={"Accept": CHROMIUM})
    assert shown.status_code == 500
    assert shown.text.startswith("<!DOCTYPE html>")
    response = await client.get("/broken")
    assert envelope(response) == (500, "INTERNAL_ERROR")
    for each in (shown, response):
        assert "secret" not in each.text
        assert each.headers["Content-Security-Policy"].startswith("default-src 'none'")
