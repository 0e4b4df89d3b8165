"""The accounts that the commands work on."""

from __future__ import annotations

import io
import re
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.service.accounts import Accounts, Due
from tests.cli.conftest import Command

PRICE = Decimal("0.0000795")

PASSWORD = "correct horse battery"

KEY = re.compile(r"tp_[\w-]{43}")


@pytest.fixture
def command(command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command on the accounts of a folder and return its exit code."""
    monkeypatch.setenv("TENDER_PIPELINE_SERVE_DATA", "accounts")

    def call(*arguments: object, stdin: bytes = b"") -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        return command("accounts", *arguments)

    return call


def opened(folder: Path) -> closing[Accounts]:
    """Open the accounts that the commands work on."""
    return closing(Accounts(folder / "accounts"))


def charge(folder: Path, account: int, times: int = 1, key: int | None = None) -> None:
    with opened(folder) as accounts:
        assert all(accounts.statement.charge([[Due(account, key, "cpv", PRICE)]] * times))
