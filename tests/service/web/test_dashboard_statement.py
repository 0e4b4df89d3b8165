from __future__ import annotations

import csv
from decimal import Decimal
from io import StringIO

import pytest
from starlette.applications import Starlette

from pipeline.money import plain, total
from pipeline.service.accounts import Accounts, Due, Entry
from tests.service.conftest import Caller, VirtualClock
from tests.service.web.browsing import Browser

pytestmark = pytest.mark.anyio


def charge(accounts: Accounts, count: int) -> None:
    dues = [Due(1, None, "cpv", Decimal(705 + n).scaleb(-7)) for n in range(count)]
    assert all(accounts.statement.charge([[each] for each in dues]))


def shown(browser: Browser) -> list[list[str]]:
    (table,) = browser.page.each("table")
    return table.rows()[1:]


def expected(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(_signed(e.amount_usd), _signed(e.balance_usd)) for e in entries]


def _signed(amount: Decimal) -> str:
    return f"{amount:,.7f}".replace("-", "\u2212")


async def test_every_entry_is_on_one_page_and_the_newest_first(
    browser: Browser, accounts: Accounts
) -> None:
    await browser.sign_up()
    charge(accounts, 120)
    accounts.statement.top_up(1, Decimal(2000), "for November")
    await browser.go("/statement")
    rows = shown(browser)
    assert rows[0][1:4] == ["Top-up for November", "", "2,000.0000000"]
    sizes = [len(rows)]
    while links := [a for a in browser.page.each("a") if a.text == "Earlier entries"]:
        await browser.go(links[0].attributes["href"])
        sizes.append(len(shown(browser)))
        rows += shown(browser)
    assert sizes == [50, 50, 22]
    entries = accounts.statement.entries(1, 1000)
    assert [(row[3], row[4]) for row in rows] == expected(entries)
    assert rows[-1][1:] == ["Opening balance", "", "5.0000000", "5.0000000"]
    (newest,) = (a for a in browser.page.each("a") if a.text == "Newest entries")
    await browser.go(newest.attributes["href"])
    assert shown(browser) == rows[:50]


@pytest.mark.parametrize("count", [49, 50])
async def test_there_is_no_page_without_entries(
    browser: Browser, accounts: Accounts, count: int
) -> None:
    await browser.sign_up()
    charge(accounts, count - 1)  # the opening balance is an entry too
    await browser.go("/statement")
    assert len(shown(browser)) == count
    assert "Earlier entries" not in browser.page.text


@pytest.mark.parametrize("before", ["", "x", "-1", "1.5", "\u0661", "9" * 18, "9" * 19, "9" * 9000])
async def test_a_number_that_no_entry_has_shows_the_newest(browser: Browser, before: str) -> None:
    await browser.sign_up()
    response = await browser.go("/statement", params={"before": before})
    assert response.status_code == 200
    assert len(shown(browser)) == 1


async def test_before_the_first_entry_there_is_nothing(browser: Browser) -> None:
    await browser.sign_up()
    await browser.go("/statement?before=1")
    assert "No earlier entries." in browser.page.text
    assert "Newest entries" in browser.page.text


async def test_the_csv_is_the_whole_statement_to_the_last_digit(
    browser: Browser, app: Starlette, accounts: Accounts, clock: VirtualClock
) -> None:
    await browser.sign_up()
    key = await browser.make_key()
    clock.now += 0.25
    charge(accounts, 3000)
    await Caller(app, key).match()
    accounts.statement.top_up(1, Decimal("0.0000001"), 'a "note", with; all')
    response = await browser.go("/statement.csv")
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["Content-Disposition"] == (
        'attachment; filename="statement-1-2026-11-20.csv"'
    )
    assert response.headers["Cache-Control"] == "no-store"
    rows = list(csv.DictReader(StringIO(response.text)))
    entries = accounts.statement.entries(1, 10_000)[::-1]
    assert len(rows) == 3003
    assert [row["amount_usd"] for row in rows] == [plain(e.amount_usd) for e in entries]
    assert [row["balance_usd"] for row in rows] == [plain(e.balance_usd) for e in entries]
    assert total(Decimal(row["amount_usd"]) for row in rows) == accounts.balance(1)
    assert rows[1]["time"] == "2026-11-20T22:00:00.250Z"
    assert [row["kind"] for row in (rows[0], rows[1], rows[-1])] == ["opening", "charge", "top-up"]
    assert (rows[-2]["system"], rows[-2]["key"]) == ("cpv", "1")
    assert rows[-1]["note"] == 'a "note", with; all'
