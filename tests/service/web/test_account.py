from __future__ import annotations

import pytest

from pipeline.service.accounts import Accounts
from tests.service.web.browsing import EMAIL, PASSWORD, Browser

pytestmark = pytest.mark.anyio

NEW = "another long password"


async def test_a_changed_password_ends_every_other_session(
    browser: Browser, other: Browser, accounts: Accounts
) -> None:
    await browser.sign_up()
    await other.log_in()
    old = browser.client.cookies["tender_session"]
    await browser.go("/account")
    await browser.send("/account", current=PASSWORD, new=NEW)
    assert browser.place == "/account?done=password"
    assert "Password changed" in browser.page.text
    assert accounts.sessions.account_of(old) is None
    await other.go("/dashboard")
    assert other.place.startswith("/login")
    await browser.go("/dashboard")
    assert browser.place == "/dashboard"
    assert accounts.log_in(EMAIL, PASSWORD) is None
    assert accounts.log_in(EMAIL, NEW) == 1


@pytest.mark.parametrize(
    ("current", "new", "field", "told"),
    [
        ("", NEW, "current", "Enter your current password."),
        ("wrong", NEW, "current", "This is not your current password."),
        (PASSWORD, "", "new", "Enter a password."),
        (PASSWORD, "short", "new", "The password has 5 characters. Use 10 or more."),
        (PASSWORD, "x" * 501, "new", "The password has 501 characters. Use 500 at most."),
    ],
)
async def test_what_is_wrong_is_reported_beside_the_field_and_nothing_changes(
    browser: Browser, accounts: Accounts, current: str, new: str, field: str, told: str
) -> None:
    await browser.sign_up()
    token = browser.client.cookies["tender_session"]
    await browser.go("/account")
    response = await browser.send("/account", current=current, new=new)
    assert response.status_code == 422
    assert browser.field_error(field) == told
    assert browser.problems() == [told]
    assert browser.form("/account")["current"] == browser.form("/account")["new"] == [""]
    assert accounts.log_in(EMAIL, PASSWORD) == 1
    assert accounts.sessions.account_of(token) == 1


async def test_tries_of_the_present_password_are_limited(
    browser: Browser, accounts: Accounts
) -> None:
    await browser.sign_up()
    await browser.go("/account")
    for _ in range(10):
        response = await browser.send("/account", current="guess", new=NEW)
        assert response.status_code == 422
    response = await browser.send("/account", current=PASSWORD, new=NEW)
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "900"
    assert browser.problems() == ["Too many attempts. Try again in 15 minutes."]
    assert accounts.log_in(EMAIL, PASSWORD) == 1


async def test_the_account_is_shown(browser: Browser) -> None:
    await browser.sign_up()
    await browser.go("/account")
    facts = [row.text for row in browser.page.each("dd")]
    assert facts == [EMAIL, "1", "2026-11-20 22:00:00", "5.00 USD"]
