"""Whatever people, programs and the administrator do, in whatever order: the books agree."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from pipeline.answers import SYSTEMS
from pipeline.errors import SettingsError
from pipeline.money import total
from pipeline.service.accounts import LIFETIME, Accounts, Due, NewKey
from tests.service.accounts.conftest import PRICE, QUICK
from tests.service.conftest import VirtualClock

NAMES = st.sampled_from(["ada", "Ada", "grace", "GRACE", "edsger"])

PASSWORDS = st.sampled_from(["correct horse", "battery staple", "Battery Staple"])

BALANCES = st.integers(0, 9).map(lambda calls: calls * PRICE)

THREADS = 4

Owned: TypeAlias = tuple[int, NewKey]
"""A key, and the account that it is of."""

SessionOrNot: TypeAlias = tuple[int, str] | MultipleResults[tuple[int, str]]


class Service(RuleBasedStateMachine):
    """Two processes on one folder, and what should be in it."""

    accounts: Bundle[int] = Bundle("accounts")
    people: Bundle[int] = Bundle("people")
    keys: Bundle[Owned] = Bundle("keys")
    sessions: Bundle[tuple[int, str]] = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = VirtualClock()
        self.processes = [Accounts(self.folder, self.clock, QUICK) for _ in range(2)]
        self.balances: dict[int, Decimal] = {}
        self.emails: dict[str, int] = {}
        self.passwords: dict[int, str] = {}
        self.in_use: dict[str, int] = {}
        self.revoked: set[str] = set()
        self.logged_in: dict[str, tuple[int, float]] = {}
        self.tokens: set[str] = set()
        self.charged: dict[int, int] = {}
        self.secrets: set[str] = set()

    def teardown(self) -> None:
        for one in self.processes:
            one.close()
        shutil.rmtree(self.folder)

    @property
    def one(self) -> Accounts:
        """Either process, in turn."""
        self.processes.reverse()
        return self.processes[0]

    def _made(self, account: int, new: NewKey) -> Owned:
        self.in_use[new.key] = account
        self.secrets.add(new.key)
        return account, new

    @initialize(target=accounts)
    def open_the_first(self) -> int | MultipleResults[int]:
        return self.open(PRICE)

    @initialize(target=people)
    def sign_the_first_up(self) -> int | MultipleResults[int]:
        return self.sign_up("ada", "correct horse", PRICE)

    @rule(target=accounts, balance=BALANCES)
    def open(self, balance: Decimal) -> int:
        opened = self.one.open(balance)
        self.balances[opened.account_id] = balance
        self.in_use[opened.key] = opened.account_id
        self.secrets.add(opened.key)
        return opened.account_id

    @rule(target=people, name=NAMES, password=PASSWORDS, balance=BALANCES)
    def sign_up(self, name: str, password: str, balance: Decimal) -> int | MultipleResults[int]:
        email = f"{name}@example.org"
        if email.lower() in self.emails:
            with pytest.raises(SettingsError, match="has an account"):
                self.one.sign_up(email, password, balance)
            return multiple()
        account = self.one.sign_up(email, password, balance)
        self.emails[email.lower()] = account
        self.passwords[account] = password
        self.balances[account] = balance
        self.secrets.add(password)
        return account

    @rule(target=keys, account=st.one_of(accounts, people), name=st.text("ab =\n\x00", max_size=5))
    def make_key(self, account: int, name: str) -> Owned:
        return self._made(account, self.one.keys.make(account, name))

    @rule(key=keys, whose=st.one_of(st.none(), accounts))
    def revoke(self, key: Owned, whose: int | None) -> None:
        account, old = key
        done = self.one.keys.revoke(whose or account, old.key_id)
        assert done == (old.key in self.in_use and (whose or account) == account)
        if done:
            self.revoked.add(old.key)
            del self.in_use[old.key]

    @rule(
        callers=st.lists(keys, min_size=1, max_size=3),
        calls=st.integers(1, 12),
        system=st.sampled_from(SYSTEMS),
    )
    def charge(self, callers: list[Owned], calls: int, system: str) -> None:
        """Call with keys, from threads of both processes at once."""
        dues = []
        for account, key in callers:
            holder = self.one.keys.holder(key.key)
            assert (holder is None) == (key.key in self.revoked)
            if holder is not None:
                assert (holder.account_id, holder.key_id) == (account, key.key_id)
                dues.append(Due(account, key.key_id, system, PRICE))  # type: ignore[arg-type]
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

    @rule(account=st.one_of(accounts, people), usd=st.decimals("0.0000001", 5 * PRICE, places=7))
    def top_up(self, account: int, usd: Decimal) -> None:
        self.balances[account] += usd
        assert self.one.statement.top_up(account, usd, "by hand") == self.balances[account]

    @rule(target=sessions, name=NAMES, password=PASSWORDS)
    def log_in(self, name: str, password: str) -> SessionOrNot:
        account = self.emails.get(f"{name}@example.org".lower())
        right = account is not None and self.passwords[account] == password
        found = self.one.log_in(f"{name}@example.org", password)
        assert found == (account if right else None)
        if found is None:
            return multiple()
        token = self.one.sessions.begin(found)
        self.logged_in[token] = found, self.clock.now + LIFETIME
        self.tokens.add(token)
        self.secrets.add(token)
        return found, token

    @rule(session=consumes(sessions))
    def log_out(self, session: tuple[int, str]) -> None:
        _, token = session
        self.one.sessions.end(token)
        self.logged_in.pop(token, None)
        assert self.one.sessions.account_of(token) is None

    @rule(account=people, password=PASSWORDS)
    def set_password(self, account: int, password: str) -> None:
        self.one.set_password(account, password)
        self.passwords[account] = password
        self.secrets.add(password)
        self.logged_in = {
            token: session for token, session in self.logged_in.items() if session[0] != account
        }

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
    def who_is_in_and_who_is_not_is_known(self) -> None:
        one = self.one
        for key, account in self.in_use.items():
            holder = one.keys.holder(key)
            assert holder is not None
            assert holder.account_id == account
        assert [one.keys.holder(key) for key in self.revoked] == [None] * len(self.revoked)
        for token in self.tokens:
            who, ends = self.logged_in.get(token, (None, 0.0))
            assert one.sessions.account_of(token) == (who if self.clock.now < ends else None)
        emails = [each.email for each in one.all() if each.email is not None]
        assert {email: self.emails[email] for email in emails} == self.emails
        assert len(emails) == len(self.emails)

    @invariant()
    def no_secret_is_kept(self) -> None:
        kept = b"".join(file.read_bytes() for file in self.folder.iterdir())
        for secret in self.secrets:
            assert secret.encode() not in kept


TestService = Service.TestCase
TestService.settings = settings(
    max_examples=50,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
