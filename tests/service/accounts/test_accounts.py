from __future__ import annotations

import re
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.files import sqlite as sqlite_files
from pipeline.service.accounts import Accounts, Due, Passwords
from pipeline.service.accounts.database import unusable
from tests.service.conftest import VirtualClock

EMAIL, PASSWORD = "buyer@example.org", "correct horse battery"


def test_an_account_opens_with_five_dollars_and_a_key_of_its_own(accounts: Accounts) -> None:
    one, other = accounts.open(), accounts.open()
    assert accounts.balance(one.account_id) == Decimal("5.00")
    assert re.fullmatch(r"tp_[\w-]{43}", one.key)
    assert one.key != other.key
    holders = [accounts.keys.holder(opened.key) for opened in (one, other)]
    assert [holder and holder.account_id for holder in holders] == [
        one.account_id,
        other.account_id,
    ]


@pytest.mark.parametrize(
    ("signed_up", "logged_in"),
    [
        ("büyer@example.org", "bu\u0308yer@example.org"),
        ("buyer@bücher.example", "Buyer@xn--bcher-kva.example"),
        ("buyer@example.org", "buyer@\uff45xample.org"),
    ],
    ids=["composed", "as DNS has it", "wide"],
)
def test_an_address_is_the_same_in_every_way_of_writing_it(
    accounts: Accounts, signed_up: str, logged_in: str
) -> None:
    for one, other in [(signed_up, logged_in), (f"2{logged_in}", f"2{signed_up}")]:
        account = accounts.sign_up(one, PASSWORD)
        assert accounts.log_in(other, PASSWORD) == accounts.log_in(one, PASSWORD) == account
        found = accounts.find(other)
        assert found is not None
        assert found.account_id == account
        with pytest.raises(SettingsError, match="has an account"):
            accounts.sign_up(other, PASSWORD)


def test_addresses_that_differ_in_more_than_capitals_are_different_people(
    accounts: Accounts,
) -> None:
    for email in ("straße@example.org", "strasse@example.org", "buyer@straße.de"):
        assert accounts.account(accounts.sign_up(email, PASSWORD)).email == email


def test_a_password_is_the_same_however_its_accents_are_typed(accounts: Accounts) -> None:
    account = accounts.sign_up(EMAIL, "passwörter")
    assert accounts.log_in(EMAIL, "passwo\u0308rter") == account
    assert accounts.log_in(EMAIL, "passworter") is None
    accounts.set_password(account, "cafe\u0301 au lait")
    assert accounts.log_in(EMAIL, "café au lait") == account
    accounts.set_password(account, "\u0390" * 500)  # as long as may be; three characters each
    assert accounts.log_in(EMAIL, "\u03b9\u0308\u0301" * 500) == account
    assert accounts.log_in(EMAIL, "\u03b9\u0308\u0301" * 501) is None
    accounts.set_password(account, "e\u0301" * 5)  # ten, as they were typed


def test_an_account_from_the_command_line_cannot_be_logged_in_to(accounts: Accounts) -> None:
    accounts.open()
    assert accounts.log_in("", "the password of an account that there is not") is None


@pytest.mark.parametrize(
    "email",
    ["", "buyer", "buyer@", "@example.org", "a b@example.org", "x@y", f"{'x' * 65}@example.org"],
)
def test_an_invalid_address_is_refused(accounts: Accounts, email: str) -> None:
    with pytest.raises(SettingsError, match=r"name@example\.org"):
        accounts.sign_up(email, PASSWORD)
    assert accounts.all() == []


def test_passwords_are_hashed_with_argon2_and_stored_nowhere(
    accounts: Accounts, tmp_path: Path
) -> None:
    account = accounts.sign_up(EMAIL, PASSWORD)
    key, token = accounts.keys.make(account, "nightly").key, accounts.sessions.begin(account)
    content = b"".join(file.read_bytes() for file in (tmp_path / "data").iterdir())
    assert b"$argon2id$" in content
    for secret in (PASSWORD, key, token):
        assert secret.encode() not in content


def test_the_hashing_is_slow_by_default() -> None:
    parameters = re.match(r"\$argon2id\$v=19\$m=(\d+),t=(\d+),", Passwords().hash(PASSWORD))
    assert parameters is not None
    memory, times = map(int, parameters.groups())
    assert memory >= 19_456  # KiB, what OWASP asks for at the least
    assert times >= 2


def test_accounts_are_found_by_number_and_by_address(accounts: Accounts) -> None:
    accounts.open()
    account = accounts.sign_up(EMAIL, PASSWORD)
    for name in (str(account), EMAIL, "BUYER@example.org "):
        found = accounts.find(name)
        assert found is not None
        assert (found.account_id, found.email, found.opened_at) == (account, EMAIL, 1_000_000.0)
    for name in ("", "0", "99", "-1", "9" * 40, "nobody@example.org", "\u0661"):
        assert accounts.find(name) is None
    with pytest.raises(LookupError):
        accounts.account(99)


def test_a_full_disk_takes_nothing_from_a_balance(accounts: Accounts) -> None:
    due = Due(accounts.open().account_id, 1, "cpv", Decimal("0.0001"))
    with accounts._database.writing() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    count = 0
    with pytest.raises(sqlite3.OperationalError, match="full") as caught:
        while True:
            accounts.statement.charge([[due]] * 10)
            count += 10
    error: SettingsError = unusable(accounts.folder, caught.value)
    assert error.hint == "Nothing was changed. Free space on the disk."
    assert len(accounts.statement.charges()) == count > 0
    assert accounts.balance(due.account_id) == 5 - count * due.price_usd


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match=r"Choose a folder that you may write to: --data DIR\."):
        Accounts(tmp_path / "file" / "data")


def test_a_folder_whose_files_only_one_may_use_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_memory(path: Path, patience_s: float) -> sqlite3.Connection:
        return sqlite3.connect(":memory:")

    monkeypatch.setattr(sqlite_files, "connect", in_memory)
    with pytest.raises(SettingsError) as caught:
        Accounts(tmp_path)
    assert caught.value.hint == "Choose one on a local disk: --data DIR."


def test_a_file_that_is_not_a_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "service.db"
    file.write_text("something else, and longer than the header of a database is" * 10)
    before = file.read_bytes()
    with pytest.raises(SettingsError, match=r"not a database.*--data DIR"):
        Accounts(tmp_path)
    assert file.read_bytes() == before


def test_files_that_are_kept_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    accounts = Accounts(tmp_path / "data")
    accounts.open()
    assert [oct(file.stat().st_mode & 0o777) for file in (tmp_path / "data").iterdir()] == [
        "0o600"
    ] * 3
    assert oct((tmp_path / "data").stat().st_mode & 0o777) == "0o700"
    accounts.close()


@pytest.fixture
def account(accounts: Accounts) -> int:
    return accounts.sign_up("buyer@example.org", "correct horse battery")


def test_an_unknown_key_has_no_holder(accounts: Accounts, account: int) -> None:
    key = accounts.keys.make(account, "nightly").key
    for wrong in ("", "tp_", key[:-1], key + "x", key.lower(), "ключ", "\ud800"):
        assert accounts.keys.holder(wrong) is None


def test_a_revoked_key_has_no_holder_from_then_on(
    accounts: Accounts, account: int, clock: VirtualClock
) -> None:
    stays, goes = accounts.keys.make(account, "a"), accounts.keys.make(account, "b")
    clock.now += 5
    assert accounts.keys.revoke(account, goes.key_id)
    assert accounts.keys.holder(goes.key) is None
    assert accounts.keys.holder(stays.key) is not None
    clock.now += 5
    assert not accounts.keys.revoke(account, goes.key_id)
    assert accounts.keys.of(account)[0].revoked_at == 1_000_005.0


def test_nobody_revokes_the_key_of_another(accounts: Accounts, account: int) -> None:
    key = accounts.keys.make(account, "nightly")
    other = accounts.open().account_id
    assert not accounts.keys.revoke(other, key.key_id)
    assert accounts.keys.holder(key.key) is not None


def test_keys_in_use_are_bounded(accounts: Accounts, account: int) -> None:
    made = [accounts.keys.make(account, " ") for _ in range(100)]
    assert {key.name for key in accounts.keys.of(account)} == {"unnamed"}
    with pytest.raises(SettingsError, match="Revoke one"):
        accounts.keys.make(account, "one more")
    accounts.keys.revoke(account, made[1].key_id)
    accounts.keys.make(account, "one more")
