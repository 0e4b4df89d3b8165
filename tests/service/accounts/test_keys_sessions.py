from __future__ import annotations

from pipeline.service.accounts import LIFETIME, Accounts
from tests.service.conftest import VirtualClock


def test_a_session_lasts_until_it_is_ended(accounts: Accounts) -> None:
    one, other = accounts.open().account_id, accounts.open().account_id
    tokens = [accounts.sessions.begin(account) for account in (one, one, other)]
    assert [accounts.sessions.account_of(token) for token in tokens] == [one, one, other]
    accounts.sessions.end(tokens[0])
    assert [accounts.sessions.account_of(token) for token in tokens] == [None, one, other]


def test_a_session_ends_by_itself(accounts: Accounts, clock: VirtualClock) -> None:
    token = accounts.sessions.begin(accounts.open().account_id)
    clock.now += LIFETIME - 1
    assert accounts.sessions.account_of(token) is not None
    clock.now += 1
    assert accounts.sessions.account_of(token) is None


def test_a_made_up_token_has_no_account(accounts: Accounts) -> None:
    token = accounts.sessions.begin(accounts.open().account_id)
    for wrong in ("", token[:-1], token + "x", "\ud800"):
        assert accounts.sessions.account_of(wrong) is None
