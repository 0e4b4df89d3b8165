"""No page breaks a rule that axe-core can check, light or dark."""

from __future__ import annotations

from playwright.sync_api import BrowserContext

from tests.service.browser.conftest import TEXT, Site, call, complaints, make_key, sign_up


def test_axe_finds_nothing(context: BrowserContext, site: Site) -> None:
    page = context.new_page()
    found: list[str] = []
    preview = "/reconcile/cpv/preview?id=45233140"
    for path in ("/", "/signup", "/login", "/docs", "/nothing", preview):
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
    for path in ("/dashboard", "/statement", "/account", "/keys/1/revoke"):
        page.goto(path)
        found += complaints(page)
    page.goto("/try")
    page.get_by_label("Description of the tender").fill(TEXT)
    page.get_by_role("button", name="Find codes").click()
    page.get_by_role("heading", name="Matches").wait_for()
    found += complaints(page)
    assert not found, "\n".join(found)
