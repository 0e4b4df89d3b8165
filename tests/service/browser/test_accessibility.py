"""No page breaks a rule that axe-core can check, light or dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.service.browser.conftest import Site, make_key, sign_up
from tests.service.browser.test_journey import TEXT, call


def complaints(page: Page) -> list[str]:
    """Return what axe-core finds wrong on a page."""
    found = Axe().run(page).response["violations"]
    return [f"{page.url}: {each['id']}: {node['html']}" for each in found for node in each["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, site: Site, scheme: str) -> None:
    context = browser.new_context(
        base_url=site.address, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    found: list[str] = []
    for path in ("/", "/signup", "/login", "/docs", "/nothing"):
        page.goto(path)
        found += complaints(page)
    page.goto("/signup")
    page.get_by_label("E-mail address").fill("a@example.org")
    page.get_by_label("Password").fill("short")
    page.get_by_role("button", name="Sign up").click()
    page.get_by_role("alert").wait_for()
    found += complaints(page)
    sign_up(page)
    found += complaints(page)
    key = make_key(page, "nightly run")
    found += complaints(page)
    assert call(site, key).status_code == 200
    for path in ("/dashboard", "/statement", "/account", "/keys/1/revoke", "/keys/1/rotate"):
        page.goto(path)
        found += complaints(page)
    page.goto("/try")
    page.get_by_label("Description of the tender").fill(TEXT)
    page.get_by_role("button", name="Find codes").click()
    page.get_by_role("heading", name="Matches").wait_for()
    found += complaints(page)
    context.close()
    assert not found, "\n".join(found)
