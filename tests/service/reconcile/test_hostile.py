"""What no client should send is refused with the API's error body, and costs nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from starlette.applications import Starlette

from pipeline.codes import CodeTable
from pipeline.service.accounts import Accounts
from pipeline.service.reconcile.catalogue import Catalogue
from tests.service.conftest import envelope
from tests.service.reconcile.conftest import Refine

pytestmark = pytest.mark.anyio

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> \u202e{{7*7}}"


@pytest.mark.parametrize(
    "queries",
    [
        "",
        "not JSON",
        "[]",
        "NaN",
        "[" * 100_000,
        {"q0": "road"},
        {"q0": {}},
        {"q0": {"query": 7}},
        {"q0": {"query": "road", "limit": 0}},
        {"q0": {"query": "road", "limit": "5"}},
        {"q0": {"query": "road", "type": [7]}},
        {"q0": {"query": "road", "type": "person"}},
        {"q0": {"query": "road", "type_strict": "maybe"}},
        {"q0": {"query": "road", "properties": [7]}},
        {"q0": {"query": "road", "properties": [{"pid": "text"}]}},
        {"q0": {"properties": []}},
    ],
    ids=lambda queries: str(queries)[:40],
)
async def test_queries_that_are_not_valid_are_refused_and_nothing_is_charged(
    app: Starlette, accounts: Accounts, queries: Any
) -> None:
    refine = Refine(app, f"/reconcile/{accounts.open().key}/cpv")
    assert envelope(await refine.post("queries", queries)) == (400, "VALIDATION_ERROR")
    assert accounts.statement.charges() == []


@pytest.mark.parametrize(
    "extend",
    [
        "{",
        {"ids": []},
        {"ids": [7], "properties": []},
        {"ids": ["45233140"], "properties": [{"id": 7}]},
        {"ids": ["45233140"], "properties": [{"id": "password"}]},
    ],
    ids=str,
)
async def test_extensions_that_are_not_valid_are_refused(refine: Refine, extend: Any) -> None:
    assert envelope(await refine.post("extend", extend)) == (400, "VALIDATION_ERROR")


async def test_what_is_too_large_is_refused(refine: Refine) -> None:
    for response in (
        await refine.post("queries", {"q0": {"query": "x" * 1024 * 1024}}),
        await refine.post("queries", {f"q{n}": {"query": "road"} for n in range(51)}),
        await refine.post("extend", {"ids": [str(n) for n in range(1001)], "properties": []}),
    ):
        assert envelope(response) == (413, "VALIDATION_ERROR")
    assert envelope(await refine.get("/suggest/entity", prefix="x" * 201))[0] == 400


async def test_only_a_form_is_read(refine: Refine) -> None:
    client, path = refine.client, refine.path
    assert envelope(await client.post(path, json={"queries": {}}))[0] == 415
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"queries=%ff", b"\xff", b"&".join(b"a=%d" % n for n in range(11))):
        assert envelope(await client.post(path, content=body, headers=form))[0] == 400
    assert (await client.put(path)).status_code == 405


async def test_names_of_queries_and_codes_come_back_as_they_were(refine: Refine) -> None:
    for name in ("", HOSTILE, "x" * 10_000, "__proto__"):
        queries = json.dumps({name: {"query": "road"}})
        response = await refine.post("queries", queries)
        assert list(response.json()) == [name]
        assert response.headers["Content-Type"] == "application/json"
        asked = json.dumps({"ids": [name], "properties": [{"id": "title"}]})
        response = await refine.post("extend", asked)
        assert response.json()["rows"] == {name: {"title": []}}


@pytest.fixture
def hostile_titles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small code table, such as a user may have added."""
    titles = dict.fromkeys(("45000000", "45200000", "45233140"), HOSTILE)
    codes = Catalogue(CodeTable("cpv", "", "", "", titles))
    monkeypatch.setattr("pipeline.service.reconcile.endpoints.catalogue", lambda _: codes)


@pytest.mark.usefixtures("hostile_titles")
async def test_hostile_titles_are_text_on_a_page(refine: Refine) -> None:
    for code in ("45233140", "45200000", "45000000"):
        page = await refine.get("/preview", id=code)
        assert "&lt;script&gt;alert(1)" in page.text
        assert not re.search("<(script|img)", page.text)


async def test_a_preview_can_be_framed_and_can_do_nothing(refine: Refine) -> None:
    page = await refine.get("/preview", id="45233140")
    policy = dict(
        part.split(" ", 1) for part in page.headers["Content-Security-Policy"].split("; ")
    )
    assert policy["default-src"] == policy["form-action"] == "'none'"
    assert policy["style-src"] == "'self'"
    (sheet,) = re.findall('<link rel="stylesheet" href="(.*?)">', page.text)
    assert (await refine.client.get(sheet)).headers["Content-Type"].startswith("text/css")
    assert policy["frame-ancestors"] == "*"
    assert "X-Frame-Options" not in page.headers
    assert "X-Frame-Options" in (await refine.get("/properties")).headers
    assert "<script" not in page.text


@pytest.mark.parametrize("code", ["", "nothing", HOSTILE, "45233140" * 1000])
async def test_an_unknown_code_has_no_page(refine: Refine, code: str) -> None:
    response = await refine.get("/preview", id=code)
    assert response.status_code == 404
    assert "alert" not in response.text
