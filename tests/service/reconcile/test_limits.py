"""Queries are charged, limited and logged as calls are; look-ups are free."""

from __future__ import annotations

import logging
from decimal import Decimal

import pytest
from starlette.applications import Starlette

from pipeline.json_log import FIELDS
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from tests.service.conftest import SCRIPTED, VirtualClock, envelope
from tests.service.reconcile.conftest import Refine

pytestmark = pytest.mark.anyio

ROAD_PRICE = Decimal("0.0000765")


def batch(size: int) -> dict[str, dict[str, str]]:
    return {f"q{number}": {"query": "road"} for number in range(size)}


def keyed(app: Starlette, key: str) -> Refine:
    return Refine(app, f"/reconcile/{key}/cpv")


async def test_with_a_key_in_the_path_each_text_is_a_call_that_is_charged(
    app: Starlette, accounts: Accounts
) -> None:
    opened = accounts.open()
    await keyed(app, opened.key).reconcile(batch(3))
    entries = accounts.statement.charges()
    assert [(each.system, each.price_usd) for each in entries] == [("cpv", ROAD_PRICE)] * 3
    assert accounts.balance(opened.account_id) == 5 - 3 * ROAD_PRICE


async def test_a_key_in_the_header_pays_too(app: Starlette, accounts: Accounts) -> None:
    refine = Refine(app)
    refine.client.headers["X-API-Key"] = accounts.open().key
    await refine.reconcile(batch(1))
    assert len(accounts.statement.charges()) == 1


async def test_without_a_key_nobody_pays(refine: Refine, accounts: Accounts) -> None:
    await refine.reconcile(batch(2))
    assert accounts.statement.charges() == []


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
    await refine.get()
    await refine.get(callback="alert")
    lines = [getattr(each, FIELDS) for each in caplog.records if each.name == "pipeline.service"]
    assert [line["route"] for line in lines] == ["/reconcile/{key}/cpv"] * 3
    assert {line["account"] for line in lines[:2]} == {opened.account_id}
    assert (lines[0]["system"], lines[0]["price_usd"]) == ("cpv", "0.000153")
    logged = [str(each.__dict__) for each in caplog.records if "pipeline" in each.name]
    assert opened.key not in " ".join(logged)  # the test's own client logs the address


async def test_the_addresses_in_the_manifest_have_no_key(
    app: Starlette, accounts: Accounts
) -> None:
    key = accounts.open().key
    assert key not in (await keyed(app, key).get()).text
