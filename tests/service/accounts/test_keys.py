from __future__ import annotations

import re

import pytest

from pipeline.errors import SettingsError
from pipeline.money import ZERO
from pipeline.service.accounts import Accounts, Due, Holder
from tests.service.conftest import VirtualClock


@pytest.fixture
def account(accounts: Accounts) -> int:
    return accounts.sign_up("buyer@example.org", "correct horse battery")


def test_an_account_has_as_many_keys_as_it_makes(accounts: Accounts, account: int) -> None:
    made = [accounts.keys.make(account, name) for name in ("nightly", "notebook")]
    assert len({new.key for new in made}) == 2
    for new in made:
        assert re.fullmatch(r"tp_[\w-]{43}", new.key)
        assert accounts.keys.holder(new.key) == Holder(account, new.key_id)
    newest, oldest = accounts.keys.of(account)
    assert (newest.name, oldest.name) == ("notebook", "nightly")
    assert made[1].key.startswith(newest.hint)
    assert len(newest.hint) == 7
    assert (newest.made_at, newest.used_at, newest.revoked_at) == (1_000_000.0, None, None)


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


def test_a_key_says_when_it_was_last_charged(
    accounts: Accounts, account: int, clock: VirtualClock
) -> None:
    key = accounts.keys.make(account, "nightly")
    clock.now += 60
    accounts.statement.charge([[Due(account, key.key_id, "cpv", ZERO)]])
    assert accounts.keys.of(account)[0].used_at == 1_000_060.0


def test_names_are_tidied_and_bounded(accounts: Accounts, account: int) -> None:
    accounts.keys.make(account, "  night \n job ")
    accounts.keys.make(account, " ")
    assert [key.name for key in accounts.keys.of(account)] == ["unnamed", "night job"]
    with pytest.raises(SettingsError, match="Shorten it to 100"):
        accounts.keys.make(account, "x" * 101)


def test_keys_in_use_are_bounded(accounts: Accounts, account: int) -> None:
    made = [accounts.keys.make(account, str(number)) for number in range(100)]
    with pytest.raises(SettingsError, match="Revoke one"):
        accounts.keys.make(account, "one more")
    accounts.keys.revoke(account, made[1].key_id)
    accounts.keys.make(account, "one more")
