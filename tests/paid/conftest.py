"""What the tests of buying share: a service with one account, and no waits between tries."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from pipeline.paid import pool
from pipeline.paid.ledger.ledger import Ledger, LedgerJob
from pipeline.service.accounts import Accounts
from tests.paid.command_line import CommandLine
from tests.paid.ledger.buying import BASE_URL
from tests.paid.serving import Buyer, Service, buyer, serving


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    accounts = Accounts(tmp_path / "service")
    yield Service(accounts, accounts.open(Decimal("5.00")))
    accounts.close()


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    with serving(service.app()) as address:
        yield address


@pytest.fixture
def user(tmp_path: Path, service: Service, address: str) -> Buyer:
    """A buyer at the service, with a ledger of his own and no rate limit."""
    return buyer(tmp_path, address, service.account.key)


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FIRST_BACKOFF", 0.0)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[LedgerJob]:
    ledger = Ledger(tmp_path / "ledger.db", BASE_URL)
    yield ledger.open_job("job")
    ledger.close()


@pytest.fixture
def frame() -> pd.DataFrame:
    texts = ["road works", None, "office chairs", "road  works", "school meals", "office chairs"]
    return pd.DataFrame({"n": range(6), "description": texts}, index=list("abcdef"))


@pytest.fixture
def line(
    tmp_path: Path,
    service: Service,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """The command line in a folder, at the service."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", service.account.key)
    line = CommandLine(tmp_path, capsys)
    line.address = address
    return line
