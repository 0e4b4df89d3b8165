from __future__ import annotations

from pipeline.service.accounts import LIFETIME, Accounts
from tests.service.conftest import VirtualClock


def test_a_session_ends_by_itself(accounts: Accounts, clock: VirtualClock) -> None:
    token = accounts.sessions.begin(accounts.open().account_id)
    clock.now += LIFETIME - 1
    assert accounts.sessions.account_of(token) is not None
    clock.now += 1
    assert accounts.sessions.account_of(token) is None
