from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.answers import System
from pipeline.errors import SettingsError
from pipeline.service.accounts import Accounts, DailyUse, Due
from tests.service.conftest import VirtualClock

PRICE = Decimal("0.0000795")


def test_every_change_of_a_balance_is_an_entry(accounts: Accounts, clock: VirtualClock) -> None:
    account = accounts.open().account_id
    (key,) = accounts.keys.of(account)
    clock.now += 1
    assert accounts.statement.charge([[Due(account, key.key_id, "cpv", PRICE)]]) == [True]
    clock.now += 1
    assert accounts.statement.top_up(account, Decimal("2.5"), "March") == Decimal("7.4999205")
    assert accounts.balance(account) == Decimal("7.4999205")
    top_up, charge, opening = accounts.statement.entries(account)
    assert opening.kind == "opening"
    assert opening.amount_usd == opening.balance_usd == 5
    assert (charge.kind, charge.at, charge.system, charge.key_id) == (
        "charge",
        1_000_001.0,
        "cpv",
        key.key_id,
    )
    assert (charge.amount_usd, charge.price_usd, charge.balance_usd) == (
        -PRICE,
        PRICE,
        Decimal("4.9999205"),
    )
    assert (top_up.kind, top_up.amount_usd, top_up.note) == ("top-up", Decimal("2.5"), "March")
    assert accounts.statement.charges() == [charge]


def test_a_balance_may_end_at_zero_and_not_below(accounts: Accounts) -> None:
    account = accounts.open(2 * PRICE).account_id
    due = Due(account, None, "cpv", PRICE)
    assert accounts.statement.charge([[due]] * 3) == [True, True, False]
    assert accounts.balance(account) == 0
    assert accounts.statement.charge([[due]]) == [False]
    assert len(accounts.statement.charges()) == 2


def test_the_calls_of_a_request_are_charged_together_or_not_at_all(accounts: Accounts) -> None:
    account = accounts.open(3 * PRICE).account_id
    due = Due(account, None, "cpv", PRICE)
    requests = [[due], [due, due, due], [due, due], [due]]
    assert accounts.statement.charge(requests) == [True, False, True, False]
    balances = [charge.balance_usd for charge in accounts.statement.charges()]
    assert balances == [2 * PRICE, PRICE, 0]


def test_many_threads_and_two_processes_spend_a_balance_once(
    accounts: Accounts, tmp_path: Path
) -> None:
    other = Accounts(tmp_path / "data")  # a second connection is what a process is to SQLite
    account = accounts.open(7 * PRICE + PRICE / 2).account_id
    due = Due(account, None, "psc", PRICE)
    with ThreadPoolExecutor(16) as threads:
        paid = list(
            threads.map(
                lambda number: (accounts, other)[number % 2].statement.charge([[due], [due]]),
                range(32),
            )
        )
    assert sum(map(sum, paid)) == len(other.statement.charges()) == 7
    assert other.balance(account) == PRICE / 2
    other.close()


@pytest.mark.parametrize("table", ["entries", "daily_use"])
def test_balance_entry_and_use_are_one_or_nothing(
    accounts: Accounts, tmp_path: Path, table: str
) -> None:
    account = accounts.open().account_id
    with sqlite3.connect(tmp_path / "data" / "service.db") as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO elsewhere")
    connection.close()
    with pytest.raises(sqlite3.OperationalError):
        accounts.statement.charge([[Due(account, None, "cpv", PRICE)]])
    assert accounts.balance(account) == 5


def test_entries_come_in_pages(accounts: Accounts) -> None:
    account = accounts.open().account_id
    accounts.statement.charge([[Due(account, None, "cpv", PRICE)]] * 7)
    accounts.open()
    found, before = [], None
    while page := accounts.statement.entries(account, 3, before):
        found.append([entry.kind for entry in page])
        before = page[-1].entry_id
    assert found == [["charge"] * 3, ["charge"] * 3, ["charge", "opening"]]


def test_usage_is_shown_by_day_and_system(accounts: Accounts, clock: VirtualClock) -> None:
    clock.now = 86400 * 100 - 1.0
    account = accounts.open().account_id
    systems: list[System] = ["cpv", "psc", "cpv"]
    dues = [Due(account, None, system, PRICE) for system in systems]
    accounts.statement.charge([[each] for each in dues])
    clock.now += 1
    accounts.statement.charge([[each] for each in dues[:1]])
    first, second = date(1970, 4, 10), date(1970, 4, 11)
    assert accounts.statement.usage(account) == [
        DailyUse(first, "cpv", 2, 2 * PRICE),
        DailyUse(first, "psc", 1, PRICE),
        DailyUse(second, "cpv", 1, PRICE),
    ]
    assert [use.day for use in accounts.statement.usage(account, days=1)] == [second]
    clock.now += 86400 * 29
    assert [use.day for use in accounts.statement.usage(account)] == [second]


@pytest.mark.parametrize("usd", ["0", "-1", "NaN", "Infinity", "1000000.01", "0.00000001", "1e-30"])
def test_amounts_that_cannot_be_a_top_up_are_refused(accounts: Accounts, usd: str) -> None:
    account = accounts.open().account_id
    with pytest.raises(SettingsError, match="USD"):
        accounts.statement.top_up(account, Decimal(usd))
    assert accounts.balance(account) == 5
    assert len(accounts.statement.entries(account)) == 1


def test_a_long_note_is_refused(accounts: Accounts) -> None:
    with pytest.raises(SettingsError, match="Shorten it to 200"):
        accounts.statement.top_up(accounts.open().account_id, Decimal(1), "x" * 201)
