"""Power cuts, as far as a process can play them: killed in the middle of charging, a full disk."""

from __future__ import annotations

import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.errors import PipelineError
from pipeline.service.accounts import Accounts, Due
from pipeline.service.accounts.database import unusable
from tests.forking import Process
from tests.service.accounts.conftest import PRICE

BATCH = 7

CHARGING = f"""
import sys
from decimal import Decimal
from pathlib import Path
from threading import Thread
from pipeline.service.accounts import Accounts, Due

accounts = Accounts(Path(sys.argv[1]))

def charge(account, key):
    requests = [[Due(account, key, "cpv", Decimal("{PRICE}"))]] * {BATCH}
    while True:
        assert all(accounts.statement.charge(requests))
        sys.stdout.write(f"{{account}}\\n")
        sys.stdout.flush()

for account in (1, 2):
    Thread(target=charge, args=(account, account)).start()
"""
"""Charges two accounts in batches without end, and says so after each."""


def check(folder: Path) -> Counter[int]:
    """Check that the books agree; return how many charges each account has."""
    with closing(Accounts(folder)) as accounts:
        with accounts.audit() as audit:
            assert list(audit.problems()) == []
        return Counter(entry.account_id for entry in accounts.statement.charges())


@pytest.mark.parametrize("acknowledged", [1, 2, 30, 101])
def test_killed_in_the_middle_of_charging_the_books_agree_and_nothing_acknowledged_is_lost(
    tmp_path: Path, acknowledged: int
) -> None:
    with closing(Accounts(tmp_path)) as accounts:
        for _ in range(2):
            accounts.open(Decimal(1000))
    before = check(tmp_path)
    for _ in range(3):  # what a killed process left is found and mended by the next
        process = Process(
            [CHARGING, tmp_path], call="tests.forking:script", stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(acknowledged)]
        process.kill()
        said += process.stdout.read().splitlines(keepends=True)
        process.communicate()
        told = Counter(int(line) for line in said if line.endswith("\n"))
        after = check(tmp_path)
        for account in (1, 2):
            charged = after[account] - before[account]
            assert charged % BATCH == 0
            assert told[account] <= charged // BATCH <= told[account] + 1
        before = after


def test_a_full_disk_takes_nothing_from_a_balance_and_charging_goes_on_when_there_is_room(
    accounts: Accounts, tmp_path: Path
) -> None:
    account = accounts.open().account_id
    due = Due(account, 1, "cpv", PRICE)
    with accounts._database.writing() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    count = 0
    with pytest.raises(sqlite3.OperationalError, match="full") as caught:
        while True:
            accounts.statement.charge([[due]] * 10)
            count += 10
    error: PipelineError = unusable(tmp_path / "data", caught.value)
    assert error.hint == "Nothing was changed. Free space on the disk."
    assert count > 0
    assert check(tmp_path / "data")[account] == count
    assert accounts.balance(account) == 5 - count * PRICE
    with accounts._database.writing() as connection:
        connection.execute("PRAGMA max_page_count = 1000000")
    assert accounts.statement.charge([[due]]) == [True]
    assert check(tmp_path / "data")[account] == count + 1
