from __future__ import annotations

import pytest
from fastapi import FastAPI

from pipeline.service import Accounts
from pipeline.service.accounts import Entry
from pipeline.service.web.visitors import Visitor
from tests.service.web.browsing import EMAIL, PASSWORD, Browser, Fields

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
)
"""What browsers say of a form on another site."""


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


async def refused(browser: Browser, path: str, token: Fields, **headers: str) -> None:
    response = await browser.post(path, {**FORMS[path], **token}, **headers)
    assert response.status_code == 403, path
    assert "This form is out of date" in browser.page.text
    assert browser.response.history == []


@pytest.mark.parametrize("path", FORMS)
async def test_every_form_needs_the_token_of_its_visitor(
    member: Browser, other: Browser, accounts: Accounts, path: str
) -> None:
    session = member.client.cookies["tender_session"]
    await other.go("/login")
    foreign = other.form("/login")["form_token"]
    own = member.form("/logout")["form_token"]
    before = state(accounts)
    await refused(member, path, {})
    for token in ("", *foreign, own[0][:-1], "\u00fc\u2028"):
        await refused(member, path, {"form_token": token})
    assert state(accounts) == before
    assert accounts.sessions.account_of(session) == 1


@pytest.mark.parametrize("path", FORMS)
async def test_a_form_from_another_site_is_refused_even_with_the_token(
    member: Browser, accounts: Accounts, path: str
) -> None:
    own: Fields = {"form_token": member.form("/logout")["form_token"]}
    before = state(accounts)
    for headers in ELSEWHERE:
        await refused(member, path, own, **headers)
    assert state(accounts) == before


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://service"},
        {"Origin": "https://service"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        # A proxy may name another host than the browser sees.
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://public.example"},
    ],
)
async def test_a_form_of_this_site_is_taken(
    member: Browser, accounts: Accounts, headers: dict[str, str]
) -> None:
    await member.post("/keys", {**FORMS["/keys"], **member.form("/logout")}, **headers)
    assert "Your new key" in member.page.text
    assert len(accounts.keys.of(1)) == 2


async def test_a_token_from_before_the_log_in_is_none_after_it(
    browser: Browser, accounts: Accounts
) -> None:
    accounts.sign_up(EMAIL, PASSWORD)
    await browser.go("/login")
    before = browser.form("/login")["form_token"]
    await browser.log_in()
    await refused(browser, "/keys", {"form_token": before})


async def test_a_visitor_without_a_cookie_has_no_token_that_counts(app: FastAPI) -> None:
    first, second = Browser(app), Browser(app)
    await first.go("/try")
    token = first.form("/try")["form_token"]
    await refused(second, "/try", {"form_token": token})
    await refused(second, "/login", {"form_token": ""})


def test_with_a_session_only_its_token_counts() -> None:
    visitor = Visitor(secure=False, session="session", mark="mark")
    assert visitor.knows(Visitor(False, "session", None).token)
    assert not visitor.knows(Visitor(False, None, "mark").token)
    assert visitor.token == Visitor(False, "session", "another").token


def test_no_two_visitors_have_the_same_token() -> None:
    tokens = {Visitor(False, None, None).token for _ in range(100)}
    assert len(tokens) == 100
    assert all(len(token) == 64 for token in tokens)
