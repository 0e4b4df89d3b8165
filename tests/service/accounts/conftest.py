"""Accounts whose passwords are hashed quickly and weakly."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from pipeline.service.accounts import Accounts, Passwords
from tests.service.conftest import VirtualClock

PRICE = Decimal("0.0000795")

QUICK = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))


@pytest.fixture
def accounts(tmp_path: Path, clock: VirtualClock) -> Iterator[Accounts]:
    opened = Accounts(tmp_path / "data", clock, QUICK)
    yield opened
    opened.close()
