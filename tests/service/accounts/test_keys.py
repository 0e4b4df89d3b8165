from __future__ import annotations

import pytest

from pipeline.errors import SettingsError
from pipeline.service.accounts import Accounts
from tests.service.conftest import VirtualClock


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
