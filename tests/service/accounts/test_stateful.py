"""Whatever programs and the administrator do, in whatever order and process: the books agree."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from pipeline.answers import SYSTEMS, System
from pipeline.money import total
from pipeline.service.accounts import Accounts, Due, NewKey
from tests.service.accounts.conftest import PRICE, QUICK
from tests.service.conftest import VirtualClock

BALANCES = st.integers(0, 9).map(lambda calls: calls * PRICE)

THREADS = 4


class Service(RuleBasedStateMachine):
    """Two processes on one folder, and what should be in it."""

    accounts: Bundle[int] = Bundle("accounts")
    keys: Bundle[NewKey] = Bundle("keys")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = VirtualClock()
        self.processes = [Accounts(self.folder, self.clock, QUICK) for _ in range(2)]
        self.balances: dict[int, Decimal] = {}
        self.charged: dict[int, int] = {}
        self.in_use: dict[str, int] = {}
        self.revoked: set[str] = set()

    def teardown(self) -> None:
        for one in self.processes:
            one.close()
        shutil.rmtree(self.folder)

    @property
    def one(self) -> Accounts:
        """Either process, in turn."""
        self.processes.reverse()
        return self.processes[0]

    @initialize(target=accounts)
    def open_the_first(self) -> int | MultipleResults[int]:
        return self.open(PRICE)

    @rule(target=accounts, balance=BALANCES)
    def open(self, balance: Decimal) -> int:
        opened = self.one.open(balance)
        self.balances[opened.account_id] = balance
        self.in_use[opened.key] = opened.account_id
        return opened.account_id

    @rule(target=keys, account=accounts)
    def make_key(self, account: int) -> NewKey:
        new = self.one.keys.make(account, "another")
        self.in_use[new.key] = account
        return new

    @rule(key=keys, whose=st.one_of(st.none(), accounts))
    def revoke(self, key: NewKey, whose: int | None) -> None:
        done = self.one.keys.revoke(whose or key.account_id, key.key_id)
        assert done == (key.key in self.in_use and (whose or key.account_id) == key.account_id)
        if done:
            self.revoked.add(key.key)
            del self.in_use[key.key]

    @rule(
        callers=st.lists(keys, min_size=1, max_size=3),
        calls=st.integers(1, 12),
        system=st.sampled_from(SYSTEMS),
    )
    def charge(self, callers: list[NewKey], calls: int, system: System) -> None:
        """Call with keys, from threads of both processes at once."""
        dues = []
        for key in callers:
            holder = self.one.keys.holder(key.key)
            assert (holder is None) == (key.key in self.revoked)
            if holder is not None:
                assert (holder.account_id, holder.key_id) == (key.account_id, key.key_id)
                dues.append(Due(key.account_id, key.key_id, system, PRICE))
        with ThreadPoolExecutor(THREADS) as threads:
            requests = [[due] for due in dues]
            work = [
                threads.submit(self.processes[number % 2].statement.charge, requests)
                for number in range(calls)
            ]
        covered = [
            due.account_id
            for done in work
            for due, was in zip(dues, done.result(), strict=True)
            if was
        ]
        for account in {due.account_id for due in dues}:
            wanted = calls * sum(due.account_id == account for due in dues)
            paid = covered.count(account)
            assert paid == min(wanted, self.balances[account] // PRICE)
            self.balances[account] -= paid * PRICE
            self.charged[account] = self.charged.get(account, 0) + paid

    @rule(account=accounts, usd=st.decimals("0.0000001", 5 * PRICE, places=7))
    def top_up(self, account: int, usd: Decimal) -> None:
        self.balances[account] += usd
        assert self.one.statement.top_up(account, usd, "by hand") == self.balances[account]

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.now += hours * 3600

    @rule()
    def start_again(self) -> None:
        self.processes.pop().close()
        self.processes.append(Accounts(self.folder, self.clock, QUICK))

    @invariant()
    def every_balance_is_what_it_should_be_and_the_sum_of_its_entries(self) -> None:
        one = self.one
        assert {each.account_id: each.balance_usd for each in one.all()} == self.balances
        for account, balance in self.balances.items():
            entries = list(one.statement.each(account))
            assert total(entry.amount_usd for entry in entries) == balance >= 0
            assert entries[-1].balance_usd == balance
            charges = [entry for entry in entries if entry.kind == "charge"]
            assert len(charges) == self.charged.get(account, 0)
            assert sum(use.calls for use in one.statement.usage(account, 10_000)) == len(charges)

    @invariant()
    def the_books_agree(self) -> None:
        with self.one.audit() as audit:
            assert list(audit.problems()) == []

    @invariant()
    def keys_have_their_holders_until_they_are_revoked(self) -> None:
        holders = {key: self.one.keys.holder(key) for key in (*self.in_use, *self.revoked)}
        assert {key: one.account_id for key, one in holders.items() if one} == self.in_use


TestService = Service.TestCase
TestService.settings = settings(
    max_examples=50,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
