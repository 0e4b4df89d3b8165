"""Pages over accounts in a folder of their own, on a virtual clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from tests.service.accounts.conftest import QUICK
from tests.service.conftest import SCRIPTED, VirtualClock
from tests.service.web.browsing import Browser

NOVEMBER = 1_795_212_000.0
"""2026-11-20 22:00:00 UTC."""


@pytest.fixture
def accounts(tmp_path: Path, clock: VirtualClock) -> Iterator[Accounts]:
    clock.now = NOVEMBER
    opened = Accounts(tmp_path / "data", clock, QUICK)
    yield opened
    opened.close()


@pytest.fixture
def app(accounts: Accounts) -> Starlette:
    return create_app(accounts, SCRIPTED)


@pytest.fixture
def browser(app: Starlette) -> Browser:
    return Browser(app)


@pytest.fixture
async def member(browser: Browser) -> Browser:
    """Somebody who has signed up."""
    await browser.sign_up()
    return browser


@pytest.fixture
def other(app: Starlette) -> Browser:
    return Browser(app, address="198.51.100.7")
