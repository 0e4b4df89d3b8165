from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from starlette.applications import Starlette

from pipeline.answers import SYSTEMS, System
from pipeline.money import plain, total
from pipeline.service.accounts import Accounts, Due
from tests.service.conftest import Caller, VirtualClock
from tests.service.web.browsing import Browser

pytestmark = pytest.mark.anyio

DAY = 86400


def table(browser: Browser, labelled: str) -> list[list[str]]:
    """Return the rows of the table in a region, by its label."""
    (region,) = (
        each for each in browser.page.each("div") if each.attributes.get("aria-label") == labelled
    )
    return next(region.each("table")).rows()


def tiles(browser: Browser) -> list[str]:
    return [each.text for each in browser.page.each("dd")]


def charge(accounts: Accounts, system: System, *prices: str) -> None:
    dues = [Due(1, None, system, Decimal(price)) for price in prices]
    assert all(accounts.statement.charge([[each] for each in dues]))


async def test_a_new_account_sees_where_to_begin(browser: Browser) -> None:
    await browser.sign_up()
    assert tiles(browser) == ["5.00 USD", "0.00 USD", "0"]
    text = browser.page.text
    assert "No calls yet. Try it here , or make a key" in text
    assert "No keys in use. Make one" in text
    assert not list(browser.page.each("table"))


async def test_balance_and_spending_are_exact(browser: Browser, accounts: Accounts) -> None:
    await browser.sign_up()
    charge(accounts, "cpv", "0.0000705", "0.00015", "0.0001")
    accounts.statement.top_up(1, Decimal("1234.5"))
    await browser.go("/dashboard")
    assert tiles(browser) == ["1,239.4996795 USD", "0.0003205 USD", "3"]


async def test_table_and_statement_have_the_same_numbers(
    browser: Browser, accounts: Accounts, clock: VirtualClock
) -> None:
    await browser.sign_up()
    for day, system in enumerate(SYSTEMS * 10):
        clock.now += DAY
        charge(accounts, system, *(["0.0000705"] * (day % 3 + 1)), "0.00015")
        charge(accounts, "cpv", "0.0001")
    await browser.go("/dashboard")
    await browser.go("/login")  # the session is a week long
    await browser.log_in()
    head, *rows, foot = table(browser, "Calls per day and system, as a table")
    assert head == ["Day", "CPV", "PSC", "UNSPSC", "NAICS", "Calls", "USD"]
    assert len(rows) == 30
    shown = {
        (row[0], system): int(calls)
        for row in rows
        for system, calls in zip(SYSTEMS, row[1:5], strict=True)
        if calls != "0"
    }
    since = min(day for day, _ in shown)
    charges = [entry for entry in accounts.statement.charges() if _day(entry.at) >= since]
    counted: dict[tuple[str, str], int] = {}
    for entry in charges:
        key = (_day(entry.at), entry.system or "")
        counted[key] = counted.get(key, 0) + 1
    assert shown == counted
    for row in rows:
        assert int(row[5]) == sum(int(calls) for calls in row[1:5])
        assert Decimal(row[6]) == total(e.price_usd for e in charges if _day(e.at) == row[0])
    assert int(foot[5]) == len(charges)
    assert Decimal(foot[6]) == total(entry.price_usd for entry in charges)
    assert tiles(browser)[1:] == [f"{plain(Decimal(foot[6]))} USD", foot[5]]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()


async def test_the_last_twenty_calls_are_shown_and_only_calls(
    browser: Browser, accounts: Accounts, clock: VirtualClock
) -> None:
    await browser.sign_up()
    for number in range(15):
        clock.now += 1
        charge(accounts, "psc", "0.0001")
        charge(accounts, "naics", plain(Decimal(705 + number).scaleb(-7)))
        accounts.statement.top_up(1, Decimal(1))
    for _ in range(50):
        accounts.statement.top_up(1, Decimal(1))
    await browser.go("/dashboard")
    head, *rows = table(browser, "Last calls")
    assert head == ["Time (UTC)", "Entry", "Key", "Amount, USD", "Balance, USD"]
    assert len(rows) == 20
    assert rows[0][:4] == ["2026-11-20 22:00:15", "NAICS", "from this site", "\u22120.0000719"]
    assert {row[1] for row in rows} == {"NAICS", "PSC"}


async def test_calls_with_a_key_have_its_name_even_after_it_was_revoked(
    browser: Browser, app: Starlette, accounts: Accounts
) -> None:
    await browser.sign_up()
    key = await browser.make_key()
    await Caller(app, key).match()
    accounts.keys.revoke(1, 1)
    await browser.go("/dashboard")
    assert table(browser, "Last calls")[1][2] == "nightly run"


async def test_an_account_sees_nothing_of_another(
    browser: Browser, other: Browser, accounts: Accounts
) -> None:
    await browser.sign_up()
    await browser.make_key("secret project")
    charge(accounts, "cpv", "0.0001")
    await other.sign_up("other@example.org")
    for path in ("/dashboard", "/statement", "/account"):
        await other.go(path)
        assert "secret project" not in other.page.text
        assert "4.9999" not in other.page.text
    assert len((await other.go("/statement.csv")).text.splitlines()) == 2


async def test_a_key_is_shown_once_and_works(
    browser: Browser, app: Starlette, accounts: Accounts
) -> None:
    await browser.sign_up()
    key = await browser.make_key("  nightly\n run ")
    assert browser.response.status_code == 200
    assert browser.response.headers["Cache-Control"] == "no-store"
    assert browser.response.text.count(key) == 1
    assert (await Caller(app, key).match()).status_code == 200
    (entry,) = accounts.statement.charges()
    assert (entry.account_id, entry.key_id) == (1, 1)
    for path in ("/dashboard", "/statement", "/statement.csv", "/keys/1/revoke", "/account"):
        assert key not in (await browser.go(path)).text
    await browser.go("/dashboard")
    assert "nightly run" in browser.page.by_id("key-1").text
    assert f"{key[:7]}…" in browser.page.text


async def test_the_button_that_copies_waits_for_scripts(browser: Browser) -> None:
    await browser.sign_up()
    await browser.make_key()
    (button,) = (each for each in browser.page.each("button") if "data-copies" in each.attributes)
    assert "hidden" in button.attributes
    assert button.attributes["data-copies"] == "key"
    assert "readonly" in browser.page.by_id("key").attributes


async def test_the_dashboard_says_when_a_key_was_made_and_last_charged(
    browser: Browser, app: Starlette, clock: VirtualClock
) -> None:
    await browser.sign_up()
    key = await browser.make_key()
    await browser.go("/dashboard")
    table = next(iter(browser.page.each("table"))).rows()
    assert table[1][:5] == ["nightly run", "1", f"{key[:7]}…", "2026-11-20 22:00:00", "never"]
    clock.now += 90
    await Caller(app, key).match()
    await browser.go("/dashboard")
    table = list(browser.page.each("table"))[1].rows()
    assert table[1][3:5] == ["2026-11-20 22:00:00", "2026-11-20 22:01:30"]


async def test_revoking_asks_first_and_then_the_key_has_no_holder(
    browser: Browser, app: Starlette
) -> None:
    await browser.sign_up()
    key = await browser.make_key()
    await browser.go("/keys/1/revoke")
    assert "Revoke this key?" in browser.page.text
    assert (await Caller(app, key).match()).status_code == 200
    await browser.send("/keys/1/revoke")
    assert browser.place == "/dashboard?done=revoked"
    (notice,) = (each for each in browser.page.each("p") if "status" in each.attributes.values())
    assert notice.text == "Key revoked. Calls with it are refused from now on."
    assert (await Caller(app, key).match()).status_code == 401
    assert "No keys in use." in browser.page.text
    (summary,) = (each for each in browser.page.each("summary") if "Revoked" in each.text)
    assert summary.text == "Revoked keys (1)"


async def test_replacing_asks_first_and_then_the_new_key_works_and_the_old_does_not(
    browser: Browser, app: Starlette, accounts: Accounts
) -> None:
    await browser.sign_up()
    old = await browser.make_key()
    await browser.go("/keys/1/rotate")
    assert "Replace this key?" in browser.page.text
    await browser.send("/keys/1/rotate")
    assert browser.response.headers["Cache-Control"] == "no-store"
    new = browser.page.by_id("key").attributes["value"]
    assert new != old
    assert (await Caller(app, new).match()).status_code == 200
    assert (await Caller(app, old).match()).status_code == 401
    assert [key.name for key in accounts.keys.of(1)] == ["nightly run", "nightly run"]


@pytest.mark.parametrize("deed", ["revoke", "rotate"])
@pytest.mark.parametrize(
    "number", ["1", "3", "0", "-1", "x", "1.0", "\u0661", "9" * 18, "9" * 25, "9" * 5000]
)
async def test_a_key_that_is_not_this_accounts_or_not_in_use_is_not_found(
    browser: Browser, other: Browser, accounts: Accounts, deed: str, number: str
) -> None:
    await other.sign_up("owner@example.org")
    await other.make_key("first of another account")
    await browser.sign_up()
    await browser.make_key()
    await browser.make_key("revoked")
    accounts.keys.revoke(2, 3)
    await browser.go("/dashboard")
    token = browser.form("/logout")
    before = accounts.keys.of(1), accounts.keys.of(2)
    path = f"/keys/{number}/{deed}"
    for response in (await browser.go(path), await browser.post(path, token)):
        assert response.status_code == 404
        assert '<a class="button quiet" href="/dashboard">' in response.text, "it lists the keys"
        assert "first of another account" not in response.text
    assert (accounts.keys.of(1), accounts.keys.of(2)) == before


async def test_a_name_that_is_too_long_is_reported_beside_the_field_and_kept(
    browser: Browser, accounts: Accounts
) -> None:
    await browser.sign_up()
    response = await browser.send("/keys", name="n" * 101)
    assert response.status_code == 422
    assert browser.field_error("name") == (
        "The name of the key has 101 characters. Shorten it to 100."
    )
    assert browser.form("/keys")["name"] == ["n" * 101]
    assert accounts.keys.of(1) == []
