from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import httpx
import pytest

from pipeline.answers import Match
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.errors import ValidationError
from pipeline.service.http.messages import (
    MAX_BODY,
    MAX_CHARACTERS,
    Metadata,
    description_in,
    failure,
    success,
    write_json,
)
from pipeline.service.pricing import price
from tests.service.conftest import SCRIPTED, Caller, envelope

MATCHES = (
    Match("45233140", "Roadworks", 0.9),
    Match("45233000", 'Straßen "Ö"', 0.4),
    Match("45000000", "Works", 0.1),
)


def written(metadata: Metadata, description: str = "road") -> str:
    return success("cpv", description, MATCHES, price(MATCHES), metadata).decode()


def form(description: str) -> str:
    (key,) = json.loads(written("mixed", description))["metadata"]
    return str(key)


def test_the_detailed_form_is_this_to_the_letter() -> None:
    assert written("detailed") == (
        '{"success":true,"message":"API call was successful","data":['
        '{"code":"45233140","title":"Roadworks","confidence":0.9,"codeType":"cpv",'
        '"cost":0.000018},'
        '{"code":"45233000","title":"Straßen \\"Ö\\"","confidence":0.4,"codeType":"cpv",'
        '"cost":0.000018},'
        '{"code":"45000000","title":"Works","confidence":0.1,"codeType":"cpv",'
        '"cost":0.000018}],'
        '"metadata":{"costBreakdown":{"apiCost":0.000054,"markupPercentage":50,'
        '"markupAmount":0.000027,"finalCost":0.000081,"currency":"USD"}}}'
    )


def test_any_title_is_written_as_a_json_encoder_writes_it() -> None:
    titles = ['"', "\\", "\x00\x1f\x7f", "\u2028\u2029", "</script>", "道路🛣", ""]
    matches = [Match(str(9 - n), title, 1e-7) for n, title in enumerate(titles)]  # kept in order
    body = success("cpv", "road", matches, price(matches), "compact").decode()
    assert all(write_json(title).decode() in body for title in titles)
    assert [item["title"] for item in json.loads(body)["data"]] == titles


def test_the_compact_form_has_the_whole_price_and_no_costs_of_items() -> None:
    body = json.loads(written("compact"), parse_float=Decimal)
    assert body["metadata"] == {"cost": {"apiCost": Decimal("0.000081")}}
    assert [list(item) for item in body["data"]] == [
        ["code", "title", "confidence", "codeType"]
    ] * 3


def test_the_mixed_form_is_either_and_always_the_same_to_a_text() -> None:
    texts = [f"road {number}" for number in range(40)]
    forms = [form(text) for text in texts]
    assert set(forms) == {"cost", "costBreakdown"}
    assert forms == [form(text) for text in texts]


def test_a_failure_has_three_fields() -> None:
    assert failure(401, 'No "key".') == (
        b'{"success":false,"error":"UNAUTHORIZED","message":"No \\"key\\"."}'
    )


@pytest.mark.parametrize(
    "description", ["road", " road\n", "\u0000", "道路🛣", "x" * MAX_CHARACTERS, '"}']
)
@pytest.mark.parametrize("escaped", [True, False])
def test_a_description_is_taken_as_it_is(description: str, escaped: bool) -> None:
    request = {"description": description, "further": [1.5, None]}
    body = json.dumps(request, ensure_ascii=escaped)
    for encoding in ("utf-8", "utf-8-sig"):  # a mark before UTF-8 is passed over
        assert description_in(body.encode(encoding)) == description


@pytest.mark.parametrize("number", ["9" * 10_000, "1e999", "-0", "1E-400"])
def test_a_number_that_nobody_asked_for_does_not_matter(number: str) -> None:
    assert description_in(f'{{"budget": {number}, "description": "road"}}'.encode()) == "road"


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


BLANK = re.findall(r"\s", "".join(map(chr, range(sys.maxunicode))))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", 'The body cannot be read: .* Send {"description"'),
        ("description=road", "malformed"),
        ('{"description": "road"', "truncated"),
        ('{"description": "two\nlines"}', r"malformed: invalid character \(byte 20\)"),
        ('{"description": "road", "x": NaN}', "malformed"),
        (b'{"description": "\xff"}', "UTF-8"),
        ('{"description": "\\ud83d and more"}', "surrogate"),
        (f'{{"description": "road", "x": {nested(100_000)}}}', "recursion"),
        ('["road"]', "Expected `object`, got `array`"),
        ("{}", "Object missing required field `description`"),
        ('{"description": null}', "Expected `str`, got `null`"),
        ('{"description": ""}', "description is empty. Say what"),
        (json.dumps({"description": "".join(BLANK)}), "description is empty"),
        ('{"description": "' + "x" * (MAX_CHARACTERS + 1) + '"}', "20,001 char.* to 20,000."),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_anything_else_is_refused_and_says_what_to_send(body: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=said) as refused:
        description_in(body if isinstance(body, bytes) else body.encode())
    assert refused.value.status == 400
    assert refused.value.message.endswith(".")


pytestmark = pytest.mark.anyio

ROAD = b'{"description": "road"}'


async def posted(
    accounts: Accounts, content: bytes | AsyncIterator[bytes], headers: list[tuple[str, str]]
) -> httpx.Response:
    client = Caller(create_app(accounts, SCRIPTED)).client
    sent = [(name.encode(), value.encode()) for name, value in headers]
    return await client.post("/api/cpv/match", content=content, headers=sent)


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; charset=us-ascii; version=1",
        "application/json;",
    ],
)
async def test_a_request_carries_the_json_media_type(accounts: Accounts, media_type: str) -> None:
    stated = [("Content-Type", media_type)]
    for more in ([], [("Content-Encoding", "identity")]):
        assert (await posted(accounts, ROAD, [*stated, *more])).status_code == 200


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        *(
            ([("Content-Type", one) for one in media_types], "not JSON. Send it with")
            for media_types in (
                *(["text/plain"], ["application/x-www-form-urlencoded"], ["application/jsonx"]),
                *([""], [], ["application/jsonx; charset=utf-8"]),
            )
        ),
        *(
            (
                [
                    ("Content-Type", "application/json"),
                    *(("Content-Encoding", one) for one in each),
                ],
                "compressed. Send it uncompressed.",
            )
            for each in (["gzip"], ["GZIP"], ["br"], ["identity", "gzip"], ["?"])
        ),
    ],
    ids=repr,
)
async def test_any_other_type_or_coding_is_refused_with_how_to_send_it(
    accounts: Accounts, headers: list[tuple[str, str]], said: str
) -> None:
    response = await posted(accounts, ROAD, headers)
    assert envelope(response) == (415, "VALIDATION_ERROR")
    assert said in response.json()["message"]
    assert response.headers.get("Accept-Encoding") == ("identity" if "comp" in said else None)


@pytest.mark.parametrize(
    ("stated", "most"),
    [("", MAX_BODY + 65_536), (str(MAX_BODY + 1), 0), (str(10**18), 0), ("9" * 5_000, 0)],
    ids=["nothing", "1", "18", "5000"],
)
async def test_a_body_is_read_no_further_than_its_bound(
    accounts: Accounts, stated: str, most: int
) -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 65_536
            yield b" " * 65_536

    length = [("Content-Length", stated)] if stated else []
    response = await posted(accounts, endless(), [("Content-Type", "application/json"), *length])
    assert envelope(response) == (413, "VALIDATION_ERROR")
    assert "262,144 bytes at most" in response.json()["message"]
    assert read <= most


async def test_a_body_of_just_the_bound_is_read(accounts: Accounts) -> None:
    body = ROAD.ljust(MAX_BODY)
    assert (await posted(accounts, body, [("Content-Type", "application/json")])).status_code == 200
    response = await posted(accounts, body + b" ", [("Content-Type", "application/json")])
    assert response.status_code == 413
