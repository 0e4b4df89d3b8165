"""The interface, rule by rule, without a socket."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pipeline.money import total
from pipeline.paid.client.outcomes import Answered
from pipeline.paid.client.responses import read_response
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app, engine_matchers
from pipeline.service.http.messages import Metadata
from tests.service.conftest import ROAD_PRICE, SCRIPTED, Caller, VirtualClock, envelope, exact

pytestmark = pytest.mark.anyio


async def test_a_call_gets_an_envelope_with_matches_and_their_price(accounts: Accounts) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED), account.key).match()
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    body = exact(response)
    assert list(body) == ["success", "message", "data", "metadata"]
    assert body["success"] is True
    assert body["message"] == "API call was successful"
    assert [(m["code"], m["title"], m["confidence"]) for m in body["data"]] == [
        ("45233140", "Roadworks", Decimal("0.9")),
        ("45233000", "Roads", Decimal("0.4")),
    ]
    costs = body["metadata"]["costBreakdown"]
    assert costs == {
        "apiCost": Decimal("0.000051"),
        "markupPercentage": 50,
        "markupAmount": Decimal("0.0000255"),
        "finalCost": ROAD_PRICE,
        "currency": "USD",
    }
    assert total(item["cost"] for item in body["data"]) == costs["apiCost"]
    assert accounts.balance(account.account_id) == 5 - ROAD_PRICE


async def test_an_unknown_key_is_unauthorized_and_so_are_two_keys(accounts: Accounts) -> None:
    one, two = (accounts.open().key for _ in range(2))
    client = Caller(create_app(accounts, SCRIPTED)).client
    for keys in (["tp_unknown"], [""], ["schl\u00fcssel"], [one, two], [one, one]):
        headers = [(b"X-API-Key", key.encode("latin-1")) for key in keys]
        request = {"description": "road"}
        response = await client.post("/api/cpv/match", json=request, headers=headers)
        assert envelope(response) == (401, "UNAUTHORIZED")
        assert "Send another X-API-Key." in response.json()["message"]
    assert accounts.statement.charges() == []


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"Authorization": "Bearer {}"}, ""),
        ({"X-Api-Token": "{}"}, ""),
        ({"Cookie": "X-API-Key={}"}, ""),
        ({}, "?X-API-Key={}&api_key={}"),
    ],
)
async def test_there_is_no_other_way_in(
    accounts: Accounts, headers: dict[str, str], query: str
) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED)).client.post(
        "/api/cpv/match" + query.replace("{}", account.key),
        json={"description": "road"},
        headers={name: value.format(account.key) for name, value in headers.items()},
    )
    assert response.status_code == 200
    assert accounts.balance(account.account_id) == 5  # it was a demo request


async def test_an_account_has_100_requests_a_minute_whatever_its_key_and_address(
    accounts: Accounts, clock: VirtualClock
) -> None:
    account = accounts.open()
    keys = [account.key, accounts.keys.make(account.account_id, "another").key]
    app = create_app(accounts, SCRIPTED)
    callers = [Caller(app, keys[number % 2], f"192.0.2.{number}") for number in range(4)]
    for number in range(100):
        assert (await callers[number % 4].match()).status_code == 200
        clock.now += 0.25
    response = await callers[0].match()
    assert envelope(response) == (429, "RATE_LIMIT_EXCEEDED")
    assert response.headers["Retry-After"] == "35"
    assert "Wait 35 s" in response.json()["message"]
    assert (await Caller(app, accounts.open().key).match()).status_code == 200
    clock.now += 34.5
    assert (await callers[0].match()).headers["Retry-After"] == "1"
    clock.now += 0.501
    assert [(await callers[0].match()).status_code for _ in range(2)] == [200, 429]
    assert len(accounts.statement.charges()) == 102


async def test_the_longest_description_fits_however_it_is_escaped(accounts: Accounts) -> None:
    caller = Caller(create_app(accounts, engine_matchers()))
    assert (await caller.match("\U0001f6e3" * 20_000, "naics")).status_code == 200
    response = await caller.match("x" * 20_001, "naics")
    assert envelope(response) == (400, "VALIDATION_ERROR")
    assert "Shorten it to 20,000." in response.json()["message"]


@pytest.mark.parametrize("text", ["not in the script", "refused"])
async def test_a_fault_of_the_engine_is_an_internal_error_that_says_nothing_and_costs_nothing(
    accounts: Accounts, text: str
) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED), account.key).match(text)
    assert envelope(response) == (500, "INTERNAL_ERROR")
    assert response.json()["message"].startswith("The service failed. Try again later; ")
    assert accounts.balance(account.account_id) == 5


@pytest.mark.parametrize(
    ("form", "stated"),
    [
        (
            "detailed",
            {
                "costBreakdown": {
                    "apiCost": 0,
                    "markupPercentage": 50,
                    "markupAmount": 0,
                    "finalCost": 0,
                    "currency": "USD",
                }
            },
        ),
        ("compact", {"cost": {"apiCost": 0}}),
    ],
)
async def test_a_demo_call_states_the_price_0_and_nobody_pays(
    accounts: Accounts, form: Metadata, stated: object
) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED, metadata=form)).match()
    body = exact(response)
    assert body["metadata"] == stated
    assert [item.get("cost", 0) for item in body["data"]] == [0, 0]
    read = read_response(200, {}, response.content)
    assert isinstance(read, Answered)
    assert read.cost_usd == 0, "a price that a run can use"
    assert accounts.statement.charges() == []
    assert accounts.balance(account.account_id) == 5


async def test_a_request_that_is_not_valid_counts_but_costs_nothing(
    accounts: Accounts, clock: VirtualClock
) -> None:
    account = accounts.open()
    app = create_app(accounts, SCRIPTED, key_rate=Rate(1, 60))
    caller = Caller(app, account.key)
    assert envelope(await caller.match("  ")) == (400, "VALIDATION_ERROR")
    assert envelope(await caller.match()) == (429, "RATE_LIMIT_EXCEEDED")
    assert accounts.balance(account.account_id) == 5
