from __future__ import annotations

import csv
from decimal import Decimal
from io import StringIO

import pytest
from starlette.applications import Starlette

from pipeline.answers import System
from pipeline.money import plain, total
from pipeline.service.accounts import Accounts, Due, Entry
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


async def test_a_new_account_sees_where_to_begin(member: Browser) -> None:
    assert tiles(member) == ["5.00 USD", "0.00 USD", "0"]
    text = member.page.text
    assert "No calls yet. Try it here , or make a key" in text
    assert "No keys in use. Make one" in text
    assert not list(member.page.each("table"))


async def test_the_table_has_the_charged_calls_and_their_cost_by_day_and_system(
    member: Browser, accounts: Accounts, clock: VirtualClock
) -> None:
    clock.now -= 29 * DAY
    charge(accounts, "psc", "0.0000705")
    clock.now += 29 * DAY
    charge(accounts, "cpv", *["0.0001"] * 1001)
    charge(accounts, "naics", "0.00015")
    await member.go("/dashboard")
    assert table(member, "Calls per day and system") == [
        ["Day", "CPV", "PSC", "UNSPSC", "NAICS", "Calls", "USD"],
        ["2026-11-20", "1,001", "0", "0", "1", "1,002", "0.1002500"],
        ["2026-10-22", "0", "1", "0", "0", "1", "0.0000705"],
        ["Total", "1,001", "1", "0", "1", "1,003", "0.1003205"],
    ]
    assert tiles(member) == ["4.8996795 USD", "0.1003205 USD", "1,003"]


async def test_calls_with_a_key_have_its_name_even_after_it_was_revoked(
    member: Browser, app: Starlette, accounts: Accounts
) -> None:
    key = await member.make_key()
    await Caller(app, key).match()
    accounts.keys.revoke(1, 1)
    charge(accounts, "psc", "0.0000719")
    await member.go("/statement")
    head, page, call, _ = table(member, "Entries")
    assert head == ["Time (UTC)", "Entry", "Key", "Amount, USD", "Balance, USD"]
    assert page[:4] == ["2026-11-20 22:00:00", "PSC", "from this site", "\u22120.0000719"]
    assert call[1:3] == ["CPV", "nightly run"]


async def test_the_statement_can_be_downloaded(member: Browser, accounts: Accounts) -> None:
    charge_calls(accounts, 2)
    response = await member.go("/statement.csv")
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["Content-Disposition"] == (
        'attachment; filename="statement-1-2026-11-20.csv"'
    )
    rows = list(csv.DictReader(StringIO(response.text)))
    assert total(Decimal(row["amount_usd"]) for row in rows) == accounts.balance(1)


async def test_an_account_sees_nothing_of_another(
    member: Browser, other: Browser, accounts: Accounts
) -> None:
    await member.make_key("secret project")
    charge(accounts, "cpv", "0.0001")
    await other.sign_up("other@example.org")
    for path in ("/dashboard", "/statement", "/account"):
        await other.go(path)
        assert "secret project" not in other.page.text
        assert "4.9999" not in other.page.text
    assert len((await other.go("/statement.csv")).text.splitlines()) == 2


async def test_a_key_is_shown_once_and_works(
    member: Browser, app: Starlette, accounts: Accounts
) -> None:
    key = await member.make_key("  nightly\n run ")
    assert member.response.status_code == 200
    assert member.response.headers["Cache-Control"] == "no-store"
    assert member.response.text.count(key) == 1
    assert (await Caller(app, key).match()).status_code == 200
    (entry,) = accounts.statement.charges()
    assert (entry.account_id, entry.key_id) == (1, 1)
    for path in ("/dashboard", "/statement", "/statement.csv", "/keys/1/revoke", "/account"):
        assert key not in (await member.go(path)).text
    await member.go("/dashboard")
    assert "nightly run" in member.page.by_id("key-1").text
    assert f"{key[:7]}…" in member.page.text


async def test_the_dashboard_says_when_a_key_was_made_and_last_charged(
    member: Browser, app: Starlette, clock: VirtualClock
) -> None:
    key = await member.make_key()
    await member.go("/dashboard")
    table = next(iter(member.page.each("table"))).rows()
    assert table[1][:5] == ["nightly run", "1", f"{key[:7]}…", "2026-11-20 22:00:00", "never"]
    clock.now += 90
    await Caller(app, key).match()
    await member.go("/dashboard")
    table = list(member.page.each("table"))[1].rows()
    assert table[1][3:5] == ["2026-11-20 22:00:00", "2026-11-20 22:01:30"]


async def test_revoking_asks_first_and_then_the_key_has_no_holder(
    member: Browser, app: Starlette
) -> None:
    key = await member.make_key()
    await member.go("/keys/1/revoke")
    assert "Revoke this key?" in member.page.text
    assert (await Caller(app, key).match()).status_code == 200
    await member.send("/keys/1/revoke")
    assert member.place == "/dashboard?done=revoked"
    (notice,) = (each for each in member.page.each("p") if "status" in each.attributes.values())
    assert notice.text == "Key revoked. Calls with it are refused from now on."
    assert (await Caller(app, key).match()).status_code == 401
    assert "No keys in use." in member.page.text
    (summary,) = (each for each in member.page.each("summary") if "Revoked" in each.text)
    assert summary.text == "Revoked keys (1)"


@pytest.mark.parametrize(
    "number", ["1", "3", "0", "-1", "x", "1.0", "\u0661", "9" * 18, "9" * 25, "9" * 5000]
)
async def test_a_key_that_is_not_this_accounts_or_not_in_use_is_not_found(
    browser: Browser, other: Browser, accounts: Accounts, number: str
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
    path = f"/keys/{number}/revoke"
    for response in (await browser.go(path), await browser.post(path, token)):
        assert response.status_code == 404
        assert '<a class="button quiet" href="/dashboard">' in response.text, "it lists the keys"
        assert "first of another account" not in response.text
    assert (accounts.keys.of(1), accounts.keys.of(2)) == before


def charge_calls(accounts: Accounts, count: int) -> None:
    charge(accounts, "cpv", *(plain(Decimal(705 + n).scaleb(-7)) for n in range(count)))


def shown(browser: Browser) -> list[list[str]]:
    (table,) = browser.page.each("table")
    return table.rows()[1:]


def expected(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(_signed(e.amount_usd), _signed(e.balance_usd)) for e in entries]


def _signed(amount: Decimal) -> str:
    return f"{amount:,.7f}".replace("-", "\u2212")


async def test_every_entry_is_on_one_page_and_the_newest_first(
    member: Browser, accounts: Accounts
) -> None:
    charge_calls(accounts, 98)  # with two further entries, two full pages
    accounts.statement.top_up(1, Decimal(2000), "for November")
    await member.go("/statement")
    rows = shown(member)
    assert rows[0][1:4] == ["Top-up for November", "", "2,000.0000000"]
    sizes = [len(rows)]
    while links := [a for a in member.page.each("a") if a.text == "Earlier entries"]:
        await member.go(links[0].attributes["href"])
        sizes.append(len(shown(member)))
        rows += shown(member)
    assert sizes == [50, 50]
    entries = accounts.statement.entries(1, 1000)
    assert [(row[3], row[4]) for row in rows] == expected(entries)
    assert rows[-1][1:] == ["Opening balance", "", "5.0000000", "5.0000000"]
    (newest,) = (a for a in member.page.each("a") if a.text == "Newest entries")
    await member.go(newest.attributes["href"])
    assert shown(member) == rows[:50]


@pytest.mark.parametrize("before", ["", "x", "-1", "1.5", "\u0661", "9" * 18, "9" * 19, "9" * 9000])
async def test_a_number_that_no_entry_has_shows_the_newest(member: Browser, before: str) -> None:
    response = await member.go("/statement", params={"before": before})
    assert response.status_code == 200
    assert len(shown(member)) == 1


async def test_before_the_first_entry_there_is_nothing(member: Browser) -> None:
    await member.go("/statement?before=1")
    assert "No earlier entries." in member.page.text
    assert "Newest entries" in member.page.text
