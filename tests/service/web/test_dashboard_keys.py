from __future__ import annotations

import pytest
from starlette.applications import Starlette

from pipeline.service.accounts import Accounts
from tests.service.conftest import Caller, VirtualClock
from tests.service.web.browsing import Browser

pytestmark = pytest.mark.anyio


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
