from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.answers import System
from pipeline.money import ZERO
from pipeline.service.accounts import Accounts, Due
from tests.service.accounts.conftest import PRICE
from tests.service.conftest import VirtualClock


@pytest.fixture
def used(accounts: Accounts, clock: VirtualClock) -> Accounts:
    """Two accounts with two days of calls and a top-up, entries 1 to 9; somebody is logged in."""
    one, two = accounts.open().account_id, accounts.open(PRICE).account_id
    systems: list[System] = ["cpv", "psc", "cpv"]
    accounts.statement.charge([[Due(one, 1, system, PRICE)] for system in systems])
    clock.now += 86400
    accounts.statement.charge([[Due(one, None, "cpv", PRICE)], [Due(two, 2, "cpv", PRICE)]])
    accounts.statement.top_up(two, PRICE, "March")
    accounts.statement.charge([[Due(two, 2, "naics", ZERO)], [Due(two, 2, "naics", 2 * PRICE)]])
    accounts.sessions.begin(two)
    return accounts


def found(accounts: Accounts) -> list[str]:
    with accounts.audit() as audit:
        return list(audit.problems())


def test_books_that_agree_have_no_problems(used: Accounts) -> None:
    with used.audit() as audit:
        assert (audit.accounts, audit.entries) == (2, 9)
        assert list(audit.problems()) == []


def test_a_call_in_the_last_moment_of_a_day_is_one_of_that_day(
    accounts: Accounts, clock: VirtualClock
) -> None:
    clock.now = 86400 * 12 - 0.0001
    accounts.statement.charge([[Due(accounts.open().account_id, 1, "cpv", PRICE)]])
    assert found(accounts) == []


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        (
            "UPDATE accounts SET balance_usd = '4.999' WHERE account_id = 1",
            ["account 1: the balance is 4.999 USD, but the entries sum to 4.999682 USD"],
        ),
        (
            "DELETE FROM entries WHERE entry_id = 4",
            [
                "account 1: entry 5 states a balance of 4.9997615 USD instead of 4.999841 USD",
                "account 1: the balance is 4.999682 USD, but the entries sum to 4.9997615 USD",
                "account 1: the total of psc calls on 1970-01-12 is wrong",
            ],
        ),
        (
            "UPDATE entries SET amount_usd = '-0.0000796' WHERE entry_id = 6",
            [
                "account 1: entry 6 states a balance of 4.999682 USD instead of 4.9996819 USD",
                "account 1: the balance is 4.999682 USD, but the entries sum to 4.9996819 USD",
                "account 1: the total of cpv calls on 1970-01-13 is wrong",
            ],
        ),
        (
            f"UPDATE entries SET amount_usd = '1{'0' * 60}' WHERE entry_id = 9",
            [
                "account 2: entry 9 has an invalid amount",
                "account 2: the total of naics calls on 1970-01-13 is wrong",
            ],
        ),
        (
            "UPDATE entries SET amount_usd = '6' WHERE entry_id = 3",
            [
                "account 1: entry 3 is of the kind charge, but changes the balance by 6 USD",
                "account 1: entry 3 states a balance of 4.9999205 USD instead of 11 USD",
                "account 1: the balance is 4.999682 USD, but the entries sum to 10.9997615 USD",
                "account 1: the total of cpv calls on 1970-01-12 is wrong",
            ],
        ),
        (
            "UPDATE entries SET balance_usd = '-1' WHERE entry_id = 6",
            [
                "account 1: entry 6 states a balance of -1 USD instead of 4.999682 USD",
                "account 1: entry 6 states a negative balance of -1 USD",
            ],
        ),
        (
            "UPDATE entries SET kind = 'top-up' WHERE entry_id = 1",
            ["account 1: entry 1 is the first of the account, but of the kind top-up"],
        ),
        (
            "UPDATE entries SET kind = 'opening' WHERE entry_id = 8",
            ["account 2: entry 8 is not the first of the account, but of the kind opening"],
        ),
        (
            "UPDATE daily_use SET calls = 3 WHERE system = 'psc'",
            ["account 1: the total of psc calls on 1970-01-12 is wrong"],
        ),
        (
            "INSERT INTO accounts VALUES (3, 1.0, NULL, NULL, '0')",
            ["account 3: the opening entry is missing"],
        ),
        (
            "UPDATE entries SET at = 'noon', system = NULL WHERE entry_id = 4",
            [
                "account 1: the total of None calls on 1970-01-01 is wrong",
                "account 1: the total of psc calls on 1970-01-12 is wrong",
            ],
        ),
        (
            "DELETE FROM api_keys WHERE key_id = 2",
            [f"row {row} of entries refers to a missing row of api_keys" for row in (7, 9)],
        ),
        (
            "UPDATE sessions SET account_id = 9",
            ["a row of sessions refers to a missing row of accounts"],
        ),
    ],
)
def test_what_does_not_agree_is_reported(
    used: Accounts, tmp_path: Path, change: str, problems: list[str]
) -> None:
    with closing(sqlite3.connect(tmp_path / "data" / "service.db")) as connection, connection:
        assert connection.execute(change).rowcount > 0
    assert found(used) == problems


def test_damage_to_the_file_is_a_problem_and_no_crash(used: Accounts, tmp_path: Path) -> None:
    used.close()
    file = tmp_path / "data" / "service.db"
    content = bytearray(file.read_bytes())
    place = content.rindex(b"-0.0000795")  # in the table of the entries
    page = place // 4096 * 4096
    content[page : page + 8] = b"\xff" * 8
    file.write_bytes(content)
    with closing(Accounts(tmp_path / "data")) as accounts:
        said = found(accounts)
    assert said
    assert all(problem.startswith("the file is damaged: ") for problem in said)


def test_the_books_are_looked_at_as_they_stood_when_it_began(used: Accounts) -> None:
    with used.audit() as audit:
        assert used.statement.charge([[Due(1, 1, "cpv", PRICE)]] * 100) == [True] * 100
        assert audit.entries == 9
        assert list(audit.problems()) == []
        assert len(used.statement.charges()) == 106
