from __future__ import annotations

from urllib.parse import urlencode

import pytest

from pipeline.service.accounts import Accounts, Entry
from tests.service.web.browsing import EMAIL, FORM, PASSWORD, Browser, Fields

pytestmark = pytest.mark.anyio

FORMS: dict[str, Fields] = {
    "/account": {"current": PASSWORD, "new": "another long password"},
    "/keys": {"name": "planted"},
    "/keys/1/revoke": {},
    "/keys/1/rotate": {},
    "/login": {"email": EMAIL, "password": PASSWORD},
    "/logout": {},
    "/signup": {"email": "new@example.org", "password": PASSWORD},
    "/try": {"description": "road", "system": "cpv"},
}
"""Every form that does something, filled in."""


ELSEWHERE: tuple[dict[str, str], ...] = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://service"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://service.evil.example"},
    {"Origin": "http://service:8000"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://["},
    {"Referer": "https://evil.example/service"},
    {"Referer": ""},
    {"Origin": "https://evil.example", "Referer": "http://service/login"},
)
"""Headers that browsers send with a form of another site."""


def state(accounts: Accounts) -> tuple[int, list[object], list[Entry], bool]:
    """Return everything that a form could change."""
    keys: list[object] = list(accounts.keys.of(1))
    right = accounts.log_in(EMAIL, PASSWORD) == 1
    return len(accounts.all()), keys, accounts.statement.charges(), right


@pytest.fixture
async def member(browser: Browser) -> Browser:
    """Somebody who is logged in and has a key."""
    await browser.sign_up()
    await browser.make_key()
    return browser


async def refused(browser: Browser, path: str, **headers: str) -> None:
    content = urlencode(FORMS[path], doseq=True)
    sent = {"Content-Type": FORM, **headers}
    browser.response = await browser.client.post(path, content=content, headers=sent)
    assert browser.response.status_code == 403, path
    assert "This form did not come from this site" in browser.page.text
    assert browser.response.history == []


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_that_does_not_say_where_it_is_from_is_refused(
    member: Browser, accounts: Accounts, path: str
) -> None:
    before = state(accounts)
    await refused(member, path)
    assert state(accounts) == before


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_from_another_site_is_refused(
    member: Browser, accounts: Accounts, path: str
) -> None:
    session = member.client.cookies["tender_session"]
    before = state(accounts)
    for headers in ELSEWHERE:
        await refused(member, path, **headers)
    assert state(accounts) == before
    assert accounts.sessions.account_of(session) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://service"},
        {"Origin": "https://service"},
        {"Referer": "http://service/dashboard"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        # A proxy may name another host than the browser sees.
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://public.example"},
    ],
)
async def test_a_form_of_this_site_is_taken(
    member: Browser, accounts: Accounts, headers: dict[str, str]
) -> None:
    content = urlencode(FORMS["/keys"])
    sent = {"Content-Type": FORM, **headers}
    member.response = await member.client.post("/keys", content=content, headers=sent)
    assert "Your new key" in member.page.text
    assert len(accounts.keys.of(1)) == 2
