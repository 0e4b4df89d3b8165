"""What rehearsals share: a service without a limit, and customers with accounts at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import pytest

from pipeline.service.accounts import STARTING_BALANCE, Accounts
from tests.service.processes import Serving, serving
from tests.service.rehearsal.customer import Customer

NewCustomer: TypeAlias = Callable[..., Customer]


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Serve without a limit and without faults; each test has its own customer."""
    with serving(tmp_path_factory.mktemp("service") / "data", "--rate", "none") as running:
        yield running


@pytest.fixture
def new_customer(tmp_path: Path) -> Iterator[NewCustomer]:
    """Open accounts in the folder of a service."""
    opened: list[Accounts] = []

    def new(data: Path, balance: Decimal = STARTING_BALANCE) -> Customer:
        accounts = Accounts(data)
        opened.append(accounts)
        account = accounts.open(balance)
        return Customer(tmp_path, accounts, account.account_id, account.key)

    yield new
    for accounts in opened:
        accounts.close()
