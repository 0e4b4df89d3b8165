from __future__ import annotations

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.money import total
from pipeline.service import Accounts, Charge
from tests.service.conftest import VirtualClock

PRICE = Decimal("0.0000795")


def test_an_account_opens_with_five_dollars_and_a_key_of_its_own(accounts: Accounts) -> None:
    one, other = accounts.open(), accounts.open()
    assert accounts.balance(one.account_id) == Decimal("5.00")
    assert re.fullmatch(r"tp_[\w-]{43}", one.key)
    assert one.key != other.key
    assert accounts.of_key(one.key) == one.account_id != other.account_id


def test_an_unknown_or_revoked_key_is_nobodys(accounts: Accounts) -> None:
    account = accounts.open()
    for key in ("", "tp_", account.key[:-1], account.key + "x", "ключ"):
        assert accounts.of_key(key) is None
    accounts.revoke(account.key)
    assert accounts.of_key(account.key) is None


def test_keys_are_nowhere_in_the_folder(accounts: Accounts, tmp_path: Path) -> None:
    account = accounts.open()
    files = list((tmp_path / "data").iterdir())
    assert files
    for file in files:
        assert account.key.encode() not in file.read_bytes()


def test_a_charge_is_taken_and_written_down(tmp_path: Path) -> None:
    clock = VirtualClock()
    accounts = Accounts(tmp_path, clock)
    account = accounts.open().account_id
    assert accounts.charge(account, "cpv", PRICE)
    clock.now += 1
    assert accounts.charge(account, "naics", PRICE)
    assert accounts.balance(account) == Decimal("4.9998410")
    assert accounts.charges() == [
        Charge(1_000_000.0, account, "cpv", PRICE),
        Charge(1_000_001.0, account, "naics", PRICE),
    ]
    accounts.close()


def test_a_demo_call_is_written_down_and_nobody_pays(accounts: Accounts) -> None:
    account = accounts.open().account_id
    assert accounts.charge(None, "cpv", PRICE)
    assert accounts.balance(account) == 5
    assert [charge.account_id for charge in accounts.charges()] == [None]


def test_a_balance_may_end_at_zero_and_not_below(accounts: Accounts) -> None:
    account = accounts.open(PRICE + PRICE).account_id
    assert [accounts.charge(account, "cpv", PRICE) for _ in range(3)] == [True, True, False]
    assert accounts.balance(account) == 0
    assert len(accounts.charges()) == 2


def test_many_threads_and_two_processes_spend_a_balance_once(
    accounts: Accounts, tmp_path: Path
) -> None:
    other = Accounts(tmp_path / "data")  # a second connection is what a process is to SQLite
    account = accounts.open(7 * PRICE + PRICE / 2).account_id
    with ThreadPoolExecutor(16) as threads:
        paid = list(
            threads.map(
                lambda number: (accounts, other)[number % 2].charge(account, "psc", PRICE),
                range(64),
            )
        )
    assert sum(paid) == len(other.charges()) == 7
    assert other.balance(account) == PRICE / 2
    other.close()


def test_balance_and_charges_are_one_or_nothing(accounts: Accounts, tmp_path: Path) -> None:
    account = accounts.open().account_id
    with sqlite3.connect(tmp_path / "data" / "service.db") as connection:
        connection.execute("DROP TABLE charges")
    connection.close()
    with pytest.raises(sqlite3.OperationalError):
        accounts.charge(account, "cpv", PRICE)
    assert accounts.balance(account) == 5


def test_accounts_outlive_the_process_and_money_adds_up(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path)
    account = accounts.open()
    for _ in range(10):
        accounts.charge(account.account_id, "cpv", Decimal("0.0000823"))
    accounts.close()
    again = Accounts(tmp_path)
    assert again.of_key(account.key) == account.account_id
    spent = total(charge.price_usd for charge in again.charges())
    assert again.balance(account.account_id) + spent == Decimal("5.00")
    again.close()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match=r"Name a folder that you may write to: --data DIR\."):
        Accounts(tmp_path / "file" / "data")


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "service.db"
    file.write_text("something else, and longer than the header of a database is" * 10)
    before = file.read_bytes()
    with pytest.raises(SettingsError, match=r"not a database.*--data DIR"):
        Accounts(tmp_path)
    assert file.read_bytes() == before


def test_a_file_from_a_newer_version_is_refused(tmp_path: Path) -> None:
    Accounts(tmp_path).close()
    with sqlite3.connect(tmp_path / "service.db") as connection:
        connection.execute("UPDATE about SET version = 2")
    connection.close()
    with pytest.raises(SettingsError, match="Update tender-pipeline"):
        Accounts(tmp_path)
