"""A browser without a window, and the service that it looks at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from pipeline.answers import SYSTEMS
from pipeline.engine import ranker
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app, engine_matchers
from tests.paid.serving import serving
from tests.service.accounts.conftest import QUICK

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
"""The shell without windows needs a fifth less time."""

ALONE = (
    "--no-sandbox",  # which a container does not let it have
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

PASSWORD = "a long and plain one"


@dataclass
class Site:
    """A service that listens.

    Attributes:
        address: its URL.
        accounts: its accounts.
    """

    address: str
    accounts: Accounts


@pytest.fixture(scope="package")  # while it is open, no other event loop can run in this thread
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here; Debian's package is called chromium-headless-shell")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ALONE))
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def warm() -> None:
    """Load the models before a browser waits for an answer of theirs."""
    for system in SYSTEMS:
        ranker(system).rank(["road"], 1)


@pytest.fixture
def site(warm: None, tmp_path: Path) -> Iterator[Site]:
    accounts = Accounts(tmp_path / "service", passwords=QUICK)
    with serving(create_app(accounts, engine_matchers())) as address:
        yield Site(address, accounts)
    accounts.close()


@pytest.fixture
def context(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    opened = browser.new_context(base_url=site.address, viewport={"width": 1100, "height": 800})
    opened.set_default_timeout(10_000)
    opened.set_default_navigation_timeout(0)  # the server may be busy, and always answers
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return watched(context)


def watched(context: BrowserContext) -> Page:
    """Return a new page that fails the test when its console complains, as of a broken policy."""
    page = context.new_page()

    def complain(message: str) -> None:
        raise AssertionError(message)

    page.on("pageerror", lambda error: complain(str(error)))
    page.on("console", lambda said: complain(said.text) if said.type == "error" else None)
    return page


def sign_up(page: Page, email: str = "buyer@example.org") -> None:
    """Open an account and come to its dashboard."""
    page.goto("/signup")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.wait_for_url("**/dashboard")


def make_key(page: Page, name: str) -> str:
    """Make a key on the dashboard; return it as the page shows it."""
    page.goto("/dashboard")
    page.get_by_label("Name of a new key").fill(name)
    page.get_by_role("button", name="Make a key").click()
    return page.get_by_label(f"API key “{name}”").input_value()


TEXT = "Winter road maintenance: snow clearing and gritting of municipal streets"


def call(site: Site, key: str) -> httpx.Response:
    """Call the interface as a program does, with a key that a page has shown."""
    return httpx.post(
        f"{site.address}/api/cpv/match",
        json={"description": TEXT},
        headers={"X-API-Key": key},
        timeout=None,
    )


RULES: dict[Literal["light", "dark"], dict[str, list[str]]] = {
    "light": {"resultTypes": ["violations"]},
    # The theme changes nothing else, and every rule takes time.
    "dark": {"resultTypes": ["violations"], "runOnly": ["cat.color"]},
}

AXE = Axe()


def complaints(page: Page) -> Iterator[str]:
    """Yield what axe-core finds wrong on a page in either theme, by the rules of WCAG."""
    for scheme, options in RULES.items():
        page.emulate_media(color_scheme=scheme)
        for each in AXE.run(page, options=options).response["violations"]:
            for node in each["nodes"]:
                yield f"{page.url} ({scheme}): {each['id']}: {node['html']}"
