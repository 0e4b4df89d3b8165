"""What the service sends and takes is what its description says, no more and no less."""

from __future__ import annotations

import json
import re
import sys
from decimal import Decimal
from typing import Any

import httpx
import pytest
from jsonschema_rs import Draft202012Validator

from pipeline.answers import SYSTEMS, System
from pipeline.codes.shipped import shipped
from pipeline.rate import Rate
from pipeline.service import spec
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.http.messages import (
    MAX_BODY,
    METADATA,
    Metadata,
    success,
    write_json,
)
from pipeline.service.pricing import price
from pipeline.service.spec import MATCHES, NOT_BLANK
from tests.service.conftest import SCRIPTED, Caller


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    """Return a validator for a schema as it is written."""
    return Draft202012Validator(json.loads(write_json(schema)))


REQUEST = validator(spec.REQUEST)


def test_white_space_is_the_same_to_the_schema_as_to_the_service() -> None:
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    blank = [character for character in characters if character.isspace()]
    assert list(re.sub(NOT_BLANK, "", characters)) == blank
    assert not any(REQUEST.is_valid({"description": character}) for character in blank)


def test_an_answer_with_more_or_less_in_it_is_none() -> None:
    matches = MATCHES["cpv"]
    body = json.loads(success("cpv", "road", matches, price(matches), "detailed"))
    schema = validator(spec.answer_schema("detailed"))
    assert schema.is_valid(body)
    for changed in [*without_each(body), {**body, "more": 1}]:
        assert not schema.is_valid(changed), changed
    assert not schema.is_valid({**body, "data": body["data"] * 6})
    for name, wrong in {
        "code": "",
        "title": "",
        "codeType": "CPV",
        "confidence": 1.1,
        "cost": -1,
    }.items():
        assert not schema.is_valid({**body, "data": [{**body["data"][0], name: wrong}]})


def without_each(value: Any) -> list[Any]:
    """Return copies of a body that each lack one of its fields."""
    lacking: list[Any] = []
    if isinstance(value, dict):
        lacking += [{k: v for k, v in value.items() if k != name} for name in value]
        for name, inner in value.items():
            lacking += [{**value, name: less} for less in without_each(inner)]
    elif isinstance(value, list) and value:
        lacking += [[less, *value[1:]] for less in without_each(value[0])]
    return lacking


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_examples_are_codes_with_their_titles(system: System) -> None:
    titles = shipped(system).titles
    assert [titles[match.code] for match in MATCHES[system]] == [m.title for m in MATCHES[system]]


pytestmark = pytest.mark.anyio


async def description(accounts: Accounts, metadata: Metadata = "detailed", **options: Any) -> Any:
    client = Caller(create_app(accounts, SCRIPTED, metadata=metadata, **options)).client
    response = await client.get("/openapi.json")
    assert response.headers["Content-Type"] == "application/json"
    return response.json()


@pytest.mark.parametrize("metadata", METADATA)
async def test_its_examples_are_of_its_schemas(accounts: Accounts, metadata: Metadata) -> None:
    document = await description(accounts, metadata)
    seen = 0
    for operations in document["paths"].values():
        for operation in operations.values():
            for body in (operation.get("requestBody"), *operation["responses"].values()):
                for media in (body or {}).get("content", {}).values():
                    named = [one["value"] for one in media.get("examples", {}).values()]
                    schema = {**media["schema"], "components": document["components"]}
                    for one in [*named, *([media["example"]] if "example" in media else [])]:
                        Draft202012Validator(schema).validate(one)
                        seen += 1
    assert seen == 4 * (1 + (2 if metadata == "mixed" else 1))


@pytest.mark.parametrize("metadata", METADATA)
async def test_every_response_of_a_call_is_as_described(
    accounts: Accounts, metadata: Metadata
) -> None:
    app = create_app(accounts, SCRIPTED, metadata=metadata, demo_rate=Rate(1, 3600))
    document = (await Caller(app).client.get("/openapi.json")).json()
    rich, poor = accounts.open(), accounts.open(Decimal("0.00001"))
    caller = Caller(app, rich.key)
    json_type = {"Content-Type": "application/json"}
    path = "/api/cpv/match"
    demo = Caller(app)
    responses = [
        *[await caller.match(text) for text in ("road", "chairs", "gibberish")],
        await caller.client.post(path, content=b"{", headers=json_type),
        await Caller(app, "tp_unknown").match(),
        await Caller(app, poor.key).match(),
        await caller.client.post(path, content=b" " * (MAX_BODY + 1), headers=json_type),
        await caller.client.post(path, content=b"{}"),
        *[await demo.match() for _ in range(2)],
        await caller.match("not in the script"),
    ]
    statuses = [200, 200, 200, 400, 401, 402, 413, 415, 200, 429, 500]
    assert [response.status_code for response in responses] == statuses
    for response in [*responses, await caller.client.get("/health")]:
        check(document, response)


def check(document: Any, response: httpx.Response) -> None:
    """Compare a response with what is said of it."""
    operation = document["paths"][response.request.url.path][response.request.method.lower()]
    stated = operation["responses"][str(response.status_code)]
    schema = stated["content"]["application/json"]["schema"]
    whole = {**schema, "components": document["components"]}
    Draft202012Validator(whole).validate(response.json())
    for name, header in stated.get("headers", {}).items():
        assert header["required"]
        kind, value = header["schema"], response.headers[name]
        Draft202012Validator(kind).validate(int(value) if kind["type"] == "integer" else value)
