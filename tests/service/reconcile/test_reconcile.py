"""Cells become candidates: by their codes, by their texts, at the level that is wanted."""

from __future__ import annotations

import json
import logging
import re
from decimal import Decimal
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette

from pipeline.answers import SYSTEMS, Match, Matched
from pipeline.codes import CodeTable
from pipeline.json_log import FIELDS
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.reconcile.catalogue import Catalogue, catalogue
from tests import fakes
from tests.service.conftest import SCRIPTED, VirtualClock, envelope
from tests.service.reconcile.conftest import Refine
from tests.service.reconcile.specification import (
    EXTENSION,
    MANIFEST,
    PROPOSALS,
    RESULTS,
    SUGGESTIONS,
    check,
)

pytestmark = pytest.mark.anyio

ROAD_PRICE = Decimal("0.0000765")


async def test_a_text_has_the_candidates_of_a_call(refine: Refine) -> None:
    road, roads = await refine.candidates("road")
    assert road == {
        "id": "45233140",
        "name": "Roadworks",
        "description": "subcategory in Construction work for highways, roads",
        "type": [{"id": "cpv", "name": "any CPV code"}],
        "score": 90.0,
        "match": True,
        "features": [{"id": "confidence", "value": 0.9}],
    }
    assert (roads["id"], roads["score"], roads["match"]) == ("45233000", 40.0, False)
    assert [each["match"] for each in await refine.candidates("chairs")] == [False]  # too doubtful
    assert await refine.candidates("gibberish") == []
    in_the_address = (await refine.get(queries='{"q": {"query": "road"}}')).json()
    assert in_the_address["q"]["result"] == [road, roads]


async def test_types_that_are_guessed_from_candidates_leave_the_level_open(refine: Refine) -> None:
    """OpenRefine sends ten cells for three candidates each, and counts the types of these."""
    cells = {
        f"q{number}": {"query": text, "limit": 3}
        for number, text in enumerate(["road", "chairs", "gibberish", "45233140", "45"])
    }
    found = await refine.reconcile(cells)
    types = {
        kind["id"] for each in found.values() for one in each["result"] for kind in one["type"]
    }
    assert types == {"cpv"}


@pytest.mark.parametrize("written", ["45233140", " 45233140-2 ", "45233140.0"])
async def test_a_cell_that_is_a_code_is_matched_free_of_charge(
    app: Starlette, accounts: Accounts, written: str
) -> None:
    key = accounts.open().key
    (found,) = await Refine(app, f"/reconcile/{key}/cpv").candidates(written)
    assert (found["id"], found["score"], found["match"]) == ("45233140", 100.0, True)
    assert accounts.statement.charges() == []


async def test_the_short_form_of_a_code_is_a_candidate_and_not_a_match(refine: Refine) -> None:
    (found,) = await refine.candidates("45")
    assert (found["id"], found["match"]) == ("45000000", False)


async def test_candidates_are_lifted_to_the_wanted_level_and_added_up(
    refine: Refine, monkeypatch: pytest.MonkeyPatch
) -> None:
    matches = (
        Match("45233140", "Roadworks", 0.5),
        Match("45000000", "Construction work", 0.25),
        Match("39112000", "Chairs", 0.125),
        Match("45233000", "Roads", 0.1),
    )
    monkeypatch.setitem(fakes.ANSWERS, "mixed", Matched(matches))
    found = await refine.candidates("mixed", type="division", type_strict="should")
    assert [(each["id"], each["score"]) for each in found] == [
        ("45000000", 85.0),
        ("39000000", 12.5),
    ]
    assert found[0]["type"][0] == {"id": "division", "name": "CPV division"}
    deeper = await refine.candidates("mixed", type="category")
    assert [(each["id"], each["score"]) for each in deeper] == [
        ("45233000", 60.0),
        ("39112000", 12.5),
    ]
    assert await refine.candidates("mixed", type=["category", "category"]) == deeper
    (code,) = await refine.candidates("45233140", type="group")
    assert code["id"] == "45200000"


async def test_the_usual_number_of_candidates_is_five_and_the_most_ten(
    refine: Refine, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = [f"452331{number}0" for number in range(1, 7)] + ["45000000", "45200000", "45230000"]
    matches = tuple(Match(code, code, 0.09) for code in [*codes, "45233000", "45233140"])
    known = Matched(tuple(dict.fromkeys(matches))[:10])
    monkeypatch.setitem(fakes.ANSWERS, "many", known)
    assert len(await refine.candidates("many")) == 5
    assert len(await refine.candidates("many", limit=2)) == 2
    assert len(await refine.candidates("many", limit=1000)) >= 9


async def test_further_columns_are_part_of_the_text(refine: Refine) -> None:
    """The texts are joined as `run` joins text columns."""
    from_two = {"query": "", "properties": [{"pid": "text", "v": " road "}]}
    assert (await refine.reconcile({"q": from_two}))["q"]["result"] == await refine.candidates(
        "road"
    )


async def test_a_cell_that_cannot_be_asked_about_spoils_no_other(
    app: Starlette, accounts: Accounts
) -> None:
    refine = Refine(app, f"/reconcile/{accounts.open().key}/cpv")
    cells = {"blank": " \t", "long": "x" * 100_000, "road": "road"}
    found = await refine.reconcile({name: {"query": text} for name, text in cells.items()})
    assert {name: len(each["result"]) for name, each in found.items()} == {
        "blank": 0,
        "long": 0,
        "road": 2,
    }
    assert [each.price_usd for each in accounts.statement.charges()] == [ROAD_PRICE]


async def test_half_a_character_in_a_cell_is_read_as_a_question_mark(
    refine: Refine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the texts of `run`."""
    monkeypatch.setitem(fakes.ANSWERS, "road ?", fakes.ANSWERS["road"])
    found = await refine.reconcile({"q0": {"query": "road \ud800"}, "q1": {"query": "road"}})
    assert found["q0"] == found["q1"] != {"result": []}
    asked = {"ids": ["\ud800", "45233140"], "properties": [{"id": "level"}]}
    rows = (await refine.post("extend", asked)).json()["rows"]
    assert rows["45233140"] == {"level": [{"str": "subcategory"}]}


async def test_a_code_that_the_table_lacks_is_not_a_candidate(
    refine: Refine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fakes.ANSWERS, "odd", Matched((Match("99999999", "Nothing", 0.9),)))
    assert await refine.candidates("odd") == []


async def test_extension_has_titles_and_parents(refine: Refine) -> None:
    names = ("title", "title-de", "level", "parent", "path", "division", "subcategory")
    asked = {"ids": ["45233000", "nothing"], "properties": [{"id": name} for name in names]}
    rows = (await refine.post("extend", asked)).json()["rows"]
    assert rows["nothing"] == {name: [] for name in names}
    row = rows["45233000"]
    assert row["level"] == [{"str": "category"}]
    assert "road" in row["title"][0]["str"]
    assert "Straßen" in row["title-de"][0]["str"]
    assert [each["id"] for each in row["parent"]] == ["45230000"]
    path = ["45000000", "45200000", "45230000", "45233000"]
    assert [each["id"] for each in row["path"]] == path
    assert row["division"] == [{"id": "45000000", "name": "Construction work"}]
    assert row["subcategory"] == []


@pytest.mark.parametrize(
    "typed", ["45233140", "45233140-2", "Roadworks", "straßenarbeiten", "works (road) repai"]
)
async def test_a_search_finds_codes_by_digits_and_words_in_every_language(
    refine: Refine, typed: str
) -> None:
    found = (await refine.get("/suggest/entity", prefix=typed)).json()["result"]
    expected = "45233142" if typed.endswith("repai") else "45233140"
    assert expected in [each["id"] for each in found[:2]]


async def test_a_search_finds_levels_and_things_that_no_title_has(app: Starlette) -> None:
    for system, typed, code in (("naics", "construc", "23"), ("cpv", "laptop", "30213100")):
        refine = Refine(app, f"/reconcile/{system}")
        found = (await refine.get("/suggest/entity", prefix=typed)).json()["result"]
        assert code in [each["id"] for each in found[:5]]


async def test_what_a_search_needs_is_loaded_before_anybody_types(
    refine: Refine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = Event()

    def searched(*_: Any, **__: Any) -> list[Match]:
        begun.set()
        return []

    monkeypatch.setattr("pipeline.service.reconcile.catalogue.searched", searched)
    catalogue.cache_clear()
    await refine.get()
    assert begun.wait(30)


async def test_a_search_has_pages_and_nothing_typed_finds_nothing(refine: Refine) -> None:
    pages = [
        [each["id"] for each in (await refine.get("/suggest/entity", **query)).json()["result"]]
        for query in ({"prefix": "452"}, {"prefix": "452", "cursor": "20"}, {"prefix": " "})
    ]
    assert [len(page) for page in pages] == [20, 20, 0]
    assert not set(pages[0]) & set(pages[1])


CODES = {"cpv": "45233140", "psc": "J043", "unspsc": "40151500", "naics": "811310"}


@pytest.mark.parametrize("system", SYSTEMS)
async def test_every_system_is_a_service_that_a_client_finds_its_way_in(
    app: Starlette, system: str
) -> None:
    """The client follows the addresses of the manifest, as OpenRefine does."""
    refine = Refine(app, f"/reconcile/{system}")
    manifest = (await refine.get()).json()
    check(MANIFEST, manifest)
    for kind, service in manifest["suggest"].items():
        typed = {"entity": CODES[system][:2], "type": system, "property": ""}[kind]
        url = f"{service['service_url']}{service['service_path']}"
        suggested = (await refine.client.get(url, params={"prefix": typed})).json()
        check(SUGGESTIONS, suggested)
        assert suggested["result"], kind
        ids = [each["id"] for each in suggested["result"]]
        assert kind != "type" or len(ids) == len(set(ids)) > 3
    proposing = manifest["extend"]["propose_properties"]
    url = f"{proposing['service_url']}{proposing['service_path']}"
    proposals = (await refine.client.get(url, params={"type": system, "limit": "3"})).json()
    check(PROPOSALS, proposals)
    assert len(proposals["properties"]) == 3
    for template in (manifest["view"]["url"], manifest["preview"]["url"]):
        page = await refine.client.get(template.replace("{{id}}", CODES[system]))
        assert (page.status_code, urlsplit(template).netloc) == (200, "service")
    check(RESULTS, await refine.reconcile({"q0": {"query": "road"}, "q1": {"query": ""}}))


async def test_all_that_a_query_may_have_is_understood(refine: Refine) -> None:
    queries: dict[str, Any] = {
        "only text": {"query": "road"},
        "a type": {"query": "road", "type": "division", "type_strict": "should"},
        "types": {"query": "road", "type": ["class", "division"], "type_strict": "any"},
        "a limit": {"query": "road", "limit": 1},
        "a limit that is no whole number": {"query": "road", "limit": 1.5},
        "properties": {
            "query": "",
            "properties": [
                {"pid": "text", "v": {"id": "1", "name": "road"}},
                {"pid": "buyer", "v": ["somebody", 7, True, {"id": "b7"}]},
            ],
        },
        "no text": {"properties": [{"pid": "text", "v": "road"}]},
    }
    found = await refine.reconcile(queries)
    check(RESULTS, found)
    assert all(each["result"] for each in found.values())


async def test_every_property_has_values_of_the_form_that_is_required(refine: Refine) -> None:
    proposed = (await refine.get("/properties")).json()["properties"]
    wanted = [{"id": each["id"]} for each in proposed]
    response = await refine.post("extend", {"ids": ["45233140", "45000000"], "properties": wanted})
    check(EXTENSION, response.json())
    assert [each["id"] for each in response.json()["meta"]] == [each["id"] for each in proposed]


async def test_a_script_of_any_origin_may_send_a_key(refine: Refine) -> None:
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-api-key",
    }
    response = await refine.client.options("/reconcile/cpv", headers=asked)
    assert response.status_code == 200
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "X-API-Key" in response.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in response.headers


@pytest.mark.parametrize("path", ["/", "/api/cpv/match", "/dashboard", "/health"])
async def test_no_other_path_is_open_to_other_origins(refine: Refine, path: str) -> None:
    response = await refine.client.get(path)
    assert "Access-Control-Allow-Origin" not in response.headers


def batch(size: int) -> dict[str, dict[str, str]]:
    return {f"q{number}": {"query": "road"} for number in range(size)}


def keyed(app: Starlette, key: str) -> Refine:
    return Refine(app, f"/reconcile/{key}/cpv")


async def test_with_a_key_in_the_path_or_a_header_each_text_is_a_call_that_is_charged(
    app: Starlette, accounts: Accounts
) -> None:
    opened = accounts.open()
    refine = Refine(app)
    await refine.reconcile(batch(2))  # which nobody pays
    refine.client.headers["X-API-Key"] = opened.key
    await refine.reconcile(batch(1))
    await keyed(app, opened.key).reconcile(batch(2))
    entries = accounts.statement.charges()
    assert [(each.system, each.price_usd) for each in entries] == [("cpv", ROAD_PRICE)] * 3
    assert accounts.balance(opened.account_id) == 5 - 3 * ROAD_PRICE


async def test_an_unknown_key_gets_nothing(app: Starlette) -> None:
    stranger = keyed(app, "tp_unknown")
    for response in (await stranger.get(), await stranger.post("queries", batch(1))):
        assert envelope(response) == (401, "UNAUTHORIZED")


async def test_a_balance_that_does_not_cover_a_batch_pays_for_none_of_it(
    app: Starlette, accounts: Accounts
) -> None:
    opened = accounts.open(2 * ROAD_PRICE)
    refine = keyed(app, opened.key)
    response = await refine.post("queries", batch(3))
    assert envelope(response) == (402, "INSUFFICIENT_BALANCE")
    assert "0.0002295 USD of these 3 calls" in response.json()["message"]
    assert accounts.statement.charges() == []
    await refine.reconcile(batch(2))
    assert accounts.balance(opened.account_id) == 0


async def test_each_text_counts_for_the_limit_and_a_refused_batch_not_at_all(
    accounts: Accounts, clock: VirtualClock
) -> None:
    app = create_app(accounts, SCRIPTED, key_rate=Rate(10, 60), demo_rate=Rate(4, 3600))
    refine = keyed(app, accounts.open().key)
    await refine.reconcile(batch(8))
    clock.now += 20
    response = await refine.post("queries", batch(3))
    assert envelope(response) == (429, "RATE_LIMIT_EXCEEDED")
    assert response.headers["Retry-After"] == "40"
    await refine.reconcile({**batch(2), "a code": {"query": "45233140"}, "nothing": {"query": ""}})
    assert (await refine.get("/../../cpv/suggest/entity", prefix="45")).status_code == 200
    clock.now += 40.01
    await refine.reconcile(batch(8))


async def test_a_long_wait_is_not_stated_because_openrefine_would_sleep_for_it(
    accounts: Accounts, clock: VirtualClock
) -> None:
    refine = Refine(create_app(accounts, SCRIPTED, demo_rate=Rate(4, 3600)))
    await refine.reconcile(batch(4))
    response = await refine.post("queries", batch(1))
    assert envelope(response) == (429, "RATE_LIMIT_EXCEEDED")
    assert "Retry-After" not in response.headers
    assert "Wait 3600 s" in response.json()["message"]


async def test_the_manifest_states_the_largest_batch_that_the_limit_can_allow(
    accounts: Accounts,
) -> None:
    app = create_app(accounts, SCRIPTED, key_rate=Rate(7, 60), demo_rate=None)
    own, demo = keyed(app, accounts.open().key), Refine(app)
    assert [(await each.get()).json()["batchSize"] for each in (own, demo)] == [7, 50]
    assert envelope(await own.post("queries", batch(8))) == (413, "VALIDATION_ERROR")
    await own.reconcile(batch(7))
    assert envelope(await demo.post("queries", batch(51))) == (413, "VALIDATION_ERROR")


async def test_the_log_says_what_it_says_of_calls_and_never_the_key(
    app: Starlette, accounts: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "pipeline")
    opened = accounts.open()
    refine = keyed(app, opened.key)
    await refine.reconcile(batch(2))
    assert opened.key not in (await refine.get()).text
    await refine.get(queries="7")
    lines = [getattr(each, FIELDS) for each in caplog.records if each.name == "pipeline.service"]
    assert [line["route"] for line in lines] == ["/reconcile/{key}/cpv"] * 3
    assert {line["account"] for line in lines[:2]} == {opened.account_id}
    assert (lines[0]["system"], lines[0]["price_usd"]) == ("cpv", "0.000153")
    logged = [str(each.__dict__) for each in caplog.records if "pipeline" in each.name]
    assert opened.key not in " ".join(logged)  # the test's own client logs the address


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
        {"q0": {"query": 7}},
        {"q0": {"query": "road", "limit": 0}},
        {"q0": {"query": "road", "limit": "5"}},
        {"q0": {"query": "road", "type": [7]}},
        {"q0": {"query": "road", "type": "person"}},
        {"q0": {"query": "road", "type_strict": "maybe"}},
        {"q0": {"query": "road", "properties": [7]}},
        {"q0": {"query": "road", "properties": [{"pid": "text"}]}},
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
