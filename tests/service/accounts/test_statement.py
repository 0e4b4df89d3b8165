from __future__ import annotations

import csv
import io
import sqlite3
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import System
from pipeline.errors import SettingsError
from pipeline.money import plain
from pipeline.service.accounts import Accounts, ApiKey, DailyUse, Due, Entry, statement_csv
from tests.service.accounts.conftest import PRICE
from tests.service.conftest import VirtualClock


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


COLUMNS = "entry,time,kind,system,key,key_name,amount_usd,balance_usd,note"

AMOUNTS = st.decimals(-1000, 1000, allow_nan=False, places=12)


def test_a_statement_has_the_entries_the_oldest_first(
    accounts: Accounts, clock: VirtualClock
) -> None:
    account = accounts.open().account_id
    accounts.open()
    clock.now += 0.25
    accounts.statement.charge([[Due(account, 1, "cpv", PRICE)], [Due(account, None, "psc", PRICE)]])
    accounts.statement.top_up(account, Decimal("2.50"), "for March, and April")
    written = "".join(statement_csv(accounts.statement.each(account), accounts.keys.of(account)))
    assert written.splitlines() == [
        COLUMNS,
        "1,1970-01-12T13:46:40.000Z,opening,,,,5,5,",
        "3,1970-01-12T13:46:40.250Z,charge,cpv,1,first key,-0.0000795,4.9999205,",
        "4,1970-01-12T13:46:40.250Z,charge,psc,,,-0.0000795,4.999841,",
        '5,1970-01-12T13:46:40.250Z,top-up,,,,2.5,7.499841,"for March, and April"',
    ]


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS), max_size=5))
def test_amounts_come_back_exactly(rows: list[tuple[Decimal, Decimal]]) -> None:
    entries = [
        Entry(number, 1, 0.0, "charge", amount, balance, "cpv", 1, "")
        for number, (amount, balance) in enumerate(rows)
    ]
    written = "".join(statement_csv(entries, []))
    read = list(csv.DictReader(io.StringIO(written, newline="")))
    assert len(read) == len(rows)
    for row, (amount, balance) in zip(read, rows, strict=True):
        assert Decimal(row["amount_usd"]) == amount
        assert row["balance_usd"] == plain(balance)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("=1;=2", "'=1;=2"),
        ("March - April; May = June", "March - April; May = June"),
        ("\x1b[2Jred\x9b0m\x00\x7f", " [2Jred 0m  "),
        ("\u202e5 DSU\u2066", " 5 DSU "),
        ("\0=1", "' =1"),
    ],
)
def test_names_and_notes_are_texts(name: str, written: str) -> None:
    charge = Entry(1, 1, 0.0, "charge", Decimal(-1), Decimal(4), "cpv", 1, name)
    text = "".join(statement_csv([charge], [ApiKey(1, name, "tp_", 0.0, None, None)]))
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert (row["key_name"], row["note"]) == (written, written)


def test_a_long_statement_comes_in_pieces_and_is_read_in_pieces(accounts: Accounts) -> None:
    account = accounts.open().account_id
    accounts.statement.charge([[Due(account, 1, "cpv", PRICE)]] * 3000)
    pieces = list(statement_csv(accounts.statement.each(account), accounts.keys.of(account)))
    assert len(pieces) > 2
    assert all(piece.endswith("\n") for piece in pieces)
    numbers = [int(row["entry"]) for row in csv.DictReader(io.StringIO("".join(pieces)))]
    assert numbers == list(range(1, 3002))


def test_entries_that_come_while_a_statement_is_written_are_left_out(accounts: Accounts) -> None:
    account, other = accounts.open().account_id, accounts.open().account_id
    accounts.statement.charge([[Due(account, 1, "cpv", PRICE)]] * 1500)
    entries = accounts.statement.each(account)
    first = next(entries)
    for who in (other, account):
        accounts.statement.charge([[Due(who, None, "cpv", PRICE)]] * 2)
    assert len([first, *entries]) == 1501
    assert [entry.account_id for entry in accounts.statement.each(other)] == [other] * 3
