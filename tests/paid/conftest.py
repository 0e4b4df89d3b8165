"""What the tests of buying share: a service with one account, and no waits between tries."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.paid import backoff
from pipeline.service import Accounts
from tests.paid.serving import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    accounts = Accounts(tmp_path / "service")
    yield Service(accounts, accounts.open(Decimal("5.00")))
    accounts.close()


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_BACKOFF", 0.0)
