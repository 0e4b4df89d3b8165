"""Every response has the form that the specification of the Reconciliation API 0.2 requires."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette

from pipeline.answers import SYSTEMS
from tests.service.reconcile.conftest import Refine
from tests.service.reconcile.specification import (
    EXTENSION,
    FLYOUT,
    MANIFEST,
    PROPOSALS,
    RESULTS,
    SUGGESTIONS,
    check,
)

pytestmark = pytest.mark.anyio

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
    entity = manifest["suggest"]["entity"]
    path = f"{entity['flyout_service_url']}{entity['flyout_service_path']}"
    check(FLYOUT, (await refine.client.get(path.replace("${id}", CODES[system]))).json())
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


async def test_queries_may_come_in_the_address(refine: Refine) -> None:
    response = await refine.get(queries='{"q0": {"query": "road"}}')
    check(RESULTS, response.json())
    assert response.json() == await refine.reconcile({"q0": {"query": "road"}})


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
