from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.money import plain
from pipeline.service.accounts import Accounts, ApiKey, Due, Entry, statement_csv
from pipeline.tables.cells import UNSEEN
from tests.service.accounts.conftest import PRICE
from tests.service.conftest import VirtualClock

COLUMNS = "entry,time,kind,system,key,key_name,amount_usd,balance_usd,note"

NOTES = st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: " ".join(text.split()))
"""As they are kept: on one line."""

SPACE_AND_QUOTES = ' \t\r\n\f\v\ufeff"\u3000\xa0'
FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")

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


def test_an_account_without_entries_has_a_header() -> None:
    assert "".join(statement_csv([], [])) == COLUMNS + "\n"


@given(st.lists(st.tuples(AMOUNTS, AMOUNTS, NOTES), max_size=5))
def test_amounts_come_back_exactly_and_no_text_is_a_formula(
    rows: list[tuple[Decimal, Decimal, str]],
) -> None:
    entries = [
        Entry(number, 1, 0.0, "charge", amount, balance, "cpv", 1, text)
        for number, (amount, balance, text) in enumerate(rows)
    ]
    keys = [ApiKey(1, "=cmd()", "tp_", 0.0, None, None)]
    written = "".join(statement_csv(entries, keys))
    read = list(csv.DictReader(io.StringIO(written, newline="")))
    assert len(read) == len(rows)
    for row, (amount, balance, text) in zip(read, rows, strict=True):
        assert Decimal(row["amount_usd"]) == amount
        assert row["balance_usd"] == plain(balance)
        assert unguarded(row["note"]) == unguarded(text)
        assert not row["note"].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
        assert row["key_name"] == "'=cmd()"
    for separator in ";:|":
        for field in written.replace("\n", separator).split(separator):
            assert not field.lstrip(SPACE_AND_QUOTES).startswith(FORMULA_STARTS)


def unguarded(text: str) -> str:
    """Return a text without what writing adds to it or takes from it."""
    return UNSEEN.sub(" ", text).replace("'", "")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (";=1", ";'=1"),
        ("a; =1", "a; '=1"),
        (';"=1', ";\"'=1"),
        (";'=1", ";''=1"),
        (";\ufeff@a", ";\ufeff'@a"),
        ("a|+1:-1,\uff1d1", "a|'+1:'-1,'\uff1d1"),
        ("a;;=1;=2", "a;;'=1;'=2"),
        ("=1;=2", "'=1;'=2"),
        ("March - April; May = June", "March - April; May = June"),
        ("\x1b[2Jred\x9b0m\x00\x7f", " [2Jred 0m  "),
        ("\u202e5 DSU\u2066", " 5 DSU "),
        ("\0=1", "' =1"),
        (";\t=1", "; '=1"),
    ],
)
def test_names_and_notes_are_texts_however_a_line_is_split(name: str, written: str) -> None:
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
