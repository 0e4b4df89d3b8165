"""The ledger that the commands work on, and what real runs bought into it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.paid.conftest import service
from tests.paid.serving import Buyer, Service, buyer, serving

__all__ = ["service"]

Reply = tuple[int, dict[str, str], str]


@pytest.fixture
def command(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command on the ledger of a folder of its own and return its exit code."""
    monkeypatch.setenv("TENDER_PIPELINE_LEDGER", "ledger.db")
    return partial(command, "ledger")


@pytest.fixture
def bought(tmp_path: Path, service: Service) -> Buyer:
    """A ledger with a finished job: nine answers, one lost once, one refused for good."""
    lost: Reply = (504, {}, "")
    refused: Reply = (400, {}, '{"success": false, "error": "VALIDATION_ERROR", "message": "no"}')
    service.script = {2: lost, 4: refused}
    with serving(service.app()) as address:
        user = buyer(tmp_path, address, service.account.key, workers=1)
        user.write([f"text {number}" for number in range(5)])
        user.run()
    return user


def place(folder: Path) -> Path:
    return folder / "ledger.db"
