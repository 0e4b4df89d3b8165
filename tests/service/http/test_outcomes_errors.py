"""Whatever goes wrong is answered in the interface's words, or for people with a page."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import Response

from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.http.outcomes import prefers_html
from tests.service.conftest import SCRIPTED, Caller, envelope

pytestmark = pytest.mark.anyio

CHROMIUM = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"
    "*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/cpv/match", "POST"),
        ("PUT", "/api/naics/match", "POST"),
        ("PATCH", "/api/psc/match", "POST"),
        ("DELETE", "/api/unspsc/match", "POST"),
        ("OPTIONS", "/api/cpv/match", "POST"),
        ("TRACE", "/api/cpv/match", "POST"),
        ("BREW", "/api/cpv/match", "POST"),
        ("POST", "/health", "GET, HEAD"),
        ("POST", "/openapi.json", "GET, HEAD"),
        ("PUT", "/", "GET, HEAD"),
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
        "/api/cpv",
        "/api/ted/match",
        "/api/CPV/match",
        "/api/cpv/match/",
        "//api/cpv/match",
        "/api/cpv/match/more",
        "/cpv/match",
        "/redoc",
        "/health/",
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
    ("path", "status"), [("/health", 200), ("/openapi.json", 200), ("/a", 404)]
)
async def test_heads_are_answered_like_gets(accounts: Accounts, path: str, status: int) -> None:
    client = Caller(create_app(accounts, SCRIPTED)).client
    head, get = await client.head(path), await client.get(path)
    assert head.status_code == get.status_code == status
    numbers = {answer.headers.pop("X-Request-ID") for answer in (head, get)}
    assert len(numbers) == 2
    assert head.headers == get.headers


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nothing", 404), ("POST", "/health", 405)]
)
async def test_a_browser_gets_a_page_outside_the_api(
    accounts: Accounts, method: str, path: str, status: int
) -> None:
    client = Caller(create_app(accounts, SCRIPTED)).client
    response = await client.request(method, path, headers={"Accept": CHROMIUM})
    assert response.status_code == status
    assert response.text.startswith("<!DOCTYPE html>")
    assert ("Allow" in response.headers) == (status == 405)
    assert envelope(await client.request(method, path)) == (status, "VALIDATION_ERROR")


async def test_a_browser_gets_json_from_the_api(accounts: Accounts) -> None:
    client = Caller(create_app(accounts, SCRIPTED)).client
    browser = {"Accept": CHROMIUM}
    response = await client.get("/api/ted/match", headers=browser)
    assert envelope(response) == (404, "VALIDATION_ERROR")
    road = {"description": "not in the script"}
    response = await client.post("/api/cpv/match", json=road, headers=browser)
    assert envelope(response) == (500, "INTERNAL_ERROR")


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


@pytest.mark.parametrize(
    ("accept", "html"),
    [
        (CHROMIUM, True),
        ("TEXT/HTML ; Q=0.5", True),
        ("", False),
        ("*/*", False),
        ("application/json, text/html", False),
        ("application/json, */*;q=0.5", False),
        ("text/plain", False),
        (";;q=,,=;", False),
    ],
)
def test_html_is_preferred_where_it_is_asked_for_and_json_is_not(accept: str, html: bool) -> None:
    assert prefers_html(accept) is html
