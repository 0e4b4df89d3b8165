"""What the ledger's tests share: a file in a temporary folder, and a virtual clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger, LedgerJob
from tests.paid.ledger.buying import BASE_URL, FINGERPRINT, Clock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "ledger.sqlite"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(path: Path, clock: Clock) -> Iterator[Ledger]:
    opened = Ledger(path, BASE_URL, clock)
    yield opened
    opened.close()


@pytest.fixture
def job(ledger: Ledger) -> LedgerJob:
    return ledger.open_job("tenders")


@pytest.fixture
def journal(job: LedgerJob) -> Journal:
    return Journal(job, FINGERPRINT)
