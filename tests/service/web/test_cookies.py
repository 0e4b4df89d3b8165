from __future__ import annotations

from http.cookies import Morsel, SimpleCookie

import httpx
import pytest
from starlette.applications import Starlette

from pipeline.service.accounts import LIFETIME, Accounts
from tests.service.web.browsing import EMAIL, PASSWORD, Browser

pytestmark = pytest.mark.anyio


def cookies(response: httpx.Response) -> dict[str, Morsel[str]]:
    """Return the cookies that a response and those before it set, each once."""
    found: dict[str, Morsel[str]] = {}
    for each in (*response.history, response):
        for line in each.headers.get_list("Set-Cookie"):
            found.update(SimpleCookie(line))
    return found


@pytest.mark.parametrize(
    ("scheme", "prefix", "secure"), [("http", "", ""), ("https", "__Host-", True)]
)
async def test_cookies_are_out_of_reach_of_scripts_and_other_sites(
    app: Starlette, scheme: str, prefix: str, secure: object
) -> None:
    browser = Browser(app, scheme)
    assert not cookies(await browser.go("/signup"))
    await browser.send("/signup", email=EMAIL, password=PASSWORD)
    session = cookies(browser.response)
    assert set(session) == {f"{prefix}tender_session"}
    assert session[f"{prefix}tender_session"]["max-age"] == str(LIFETIME)
    for morsel in session.values():
        assert morsel["httponly"] is True
        assert morsel["secure"] == secure
        assert morsel["samesite"] == "lax"
        assert morsel["path"] == "/"
        assert morsel["domain"] == ""
    await browser.send("/logout")
    assert cookies(browser.response)[f"{prefix}tender_session"]["max-age"] == "0"
    assert f"{prefix}tender_session" not in browser.client.cookies


async def test_over_https_a_cookie_that_another_host_may_have_set_counts_for_nothing(
    app: Starlette, accounts: Accounts
) -> None:
    token = accounts.sessions.begin(accounts.sign_up(EMAIL, PASSWORD))
    browser = Browser(app, "https")
    await browser.go("/dashboard", headers={"Cookie": f"tender_session={token}"})
    assert browser.place.startswith("/login")


async def test_a_session_is_found_among_other_cookies_however_odd_and_large(
    app: Starlette, accounts: Accounts
) -> None:
    token = accounts.sessions.begin(accounts.sign_up(EMAIL, PASSWORD))
    odd = 'odd="' + 1_000_000 * '\\"' + '"'  # Python 3.11.9 would take an hour
    browser = Browser(app)
    await browser.go("/dashboard", headers={"Cookie": f"{odd}; x; tender_session={token} ;=;y=1"})
    assert browser.place == "/dashboard"


async def test_logging_in_makes_a_token_that_nobody_has_seen(
    browser: Browser, accounts: Accounts
) -> None:
    accounts.sign_up(EMAIL, PASSWORD)
    planted = "planted-by-somebody"
    fields = {"email": EMAIL, "password": PASSWORD}
    await browser.post("/login", fields, Cookie=f"tender_session={planted}")
    assert browser.place == "/dashboard"
    token = browser.client.cookies["tender_session"]
    assert token != planted
    assert accounts.sessions.account_of(token) == 1
    assert accounts.sessions.account_of(planted) is None


async def test_an_invalid_session_is_dropped_where_it_is_seen(browser: Browser) -> None:
    response = await browser.go("/login", headers={"Cookie": "tender_session=planted"})
    assert cookies(response)["tender_session"]["max-age"] == "0"


async def test_logging_in_again_ends_the_session_before(
    browser: Browser, accounts: Accounts
) -> None:
    await browser.sign_up()
    first = browser.client.cookies["tender_session"]
    await browser.post("/login", {"email": EMAIL, "password": PASSWORD})
    assert browser.place == "/dashboard"
    assert browser.client.cookies["tender_session"] != first
    assert accounts.sessions.account_of(first) is None


@pytest.mark.parametrize("cookie", ["", "x" * 4000, "caf\u00e9", "a;b", '"', "%00", "=", "\u2028"])
async def test_a_cookie_that_is_not_ours_is_ignored(browser: Browser, cookie: str) -> None:
    header = f"tender_session={cookie}".encode()
    response = await browser.client.get("/dashboard", headers=[(b"Cookie", header)])
    assert response.status_code == 200
    assert response.url.path == "/login"


async def test_a_visitor_without_a_session_gets_no_cookie(browser: Browser) -> None:
    for path in ("/", "/login", "/try", "/nothing", "/health", "/openapi.json"):
        assert not cookies(await browser.go(path))
