"""The service in a real browser: a newcomer's journey, accessibility, and OpenRefine."""

from __future__ import annotations

import re
from decimal import Decimal

from playwright.sync_api import BrowserContext, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from pipeline.money import plain, total
from tests.paid.serving import serving
from tests.service.browser.conftest import PASSWORD, TEXT, Site, call, complaints, make_key, sign_up


def usd(page: Page, label: str) -> Decimal:
    """Return an amount that the dashboard shows."""
    tile = page.locator(".tiles div", has=page.get_by_text(label)).locator("dd")
    return Decimal(tile.inner_text().split()[0])


def test_from_signing_up_to_logging_out(site: Site, page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Sign up").first.click()
    sign_up(page)
    assert usd(page, "Balance") == Decimal("5.00")

    key = make_key(page, "nightly run")
    assert re.fullmatch(r"tp_[\w-]{43}", key)
    assert call(site, key).status_code == 200
    page.goto("/dashboard")
    assert key not in page.content()
    (charge,) = site.accounts.statement.charges()
    assert usd(page, "Balance") == 5 - charge.price_usd
    page.get_by_role("link", name="Full statement").click()
    calls = page.get_by_role("region", name="Entries")
    expect(calls.get_by_role("row").filter(has_text="nightly run")).to_have_count(1)

    page.get_by_role("link", name="Try it").click()
    page.get_by_label("Description of the tender").fill(TEXT)
    for system in ("CPV", "PSC", "UNSPSC", "NAICS"):
        page.get_by_role("checkbox", name=re.compile(f"^{system}")).check()
    page.get_by_role("button", name="Find codes").click()
    expect(page.get_by_role("heading", name="Matches")).to_be_visible()
    expect(page.get_by_role("rowheader", name="90620000")).to_be_visible()
    paid = total(one.price_usd for one in site.accounts.statement.charges()[1:])
    expect(page.get_by_text(f"{plain(paid)} USD charged")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 700})
    assert page.locator(".stacked").count() == 4
    assert beside(page) == 0
    page.set_viewport_size({"width": 1100, "height": 800})
    page.emulate_media(media="print")
    expect(page.locator("main p", has_text=TEXT)).to_be_visible()
    page.emulate_media(media="screen")
    page.get_by_role("link", name="Dashboard").click()
    assert usd(page, "Balance") == 5 - charge.price_usd - paid

    page.get_by_role("link", name="Revoke nightly run").click()
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_text("No keys in use.")).to_be_visible()
    assert call(site, key).status_code == 401

    page.get_by_role("button", name="Log out").click()
    page.goto("/dashboard")
    page.wait_for_url("**/login**")


def test_the_copy_button_puts_the_key_into_the_clipboard(
    context: BrowserContext, page: Page
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_up(page)
    key = make_key(page, "notebook")
    page.get_by_role("button", name="Copy the key").click()
    expect(page.get_by_role("status").filter(has_text="opied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == key


def test_the_keyboard_is_enough_to_sign_up_and_make_a_key(page: Page) -> None:
    page.goto("/signup")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("E-mail address")).to_be_focused()
    page.keyboard.type("keys@example.org")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard")
    page.get_by_label("Name of a new key").focus()
    page.keyboard.type("by hand")
    page.keyboard.press("Enter")
    expect(page.get_by_label("API key “by hand”")).to_be_visible()


def test_no_page_is_wider_than_its_window_and_no_amount_is_beside_it(
    page: Page, site: Site
) -> None:
    sign_up(page, "a.rather.long.name.of.a.buyer@procurement.example.org")
    assert call(site, make_key(page, "w" * 100)).status_code == 200
    site.accounts.statement.top_up(1, Decimal(1_000_000), "w" * 100)
    for path in ("/", "/dashboard", "/try", "/statement", "/account", "/docs"):
        page.goto(path)
        for width in (320, 390, 1100):
            page.set_viewport_size({"width": width, "height": 700})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert beside(page) == 0, (path, width)


def beside(page: Page) -> int:
    """Return how many tables of money or keys are wider than their place."""
    tables = page.locator(".scroll:has(.stacked)")
    wide = tables.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth)")
    return len(wide)


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


RECONCILE = """async (service) => {
    const manifest = await (await fetch(service)).json();
    const frame = document.createElement("iframe");
    frame.src = manifest.preview.url.replace("{{id}}", "45233140");
    document.body.append(frame);
    const body = new URLSearchParams({queries: JSON.stringify({q0: {query: "45233140-2"}})});
    const answered = await (await fetch(service, {method: "POST", body})).json();
    const error = await (await fetch(service + "?queries=7")).json();
    return [manifest.versions, answered.q0.result[0].name, error.error];
}"""


async def openrefine(_: Request) -> HTMLResponse:
    return HTMLResponse("<!DOCTYPE html><title>OpenRefine</title>")


def test_a_page_of_another_origin_reconciles_and_frames_a_preview(
    context: BrowserContext, site: Site
) -> None:
    page = context.new_page()
    with serving(Starlette(routes=[Route("/", openrefine)])) as address:
        page.goto(address)
    found = page.evaluate(RECONCILE, f"{site.address}/reconcile/cpv")
    assert found == [["0.2"], "Roadworks", "VALIDATION_ERROR"]
    page.frame_locator("iframe").get_by_role("heading", name="45233140 Roadworks").wait_for()
