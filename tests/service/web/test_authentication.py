from __future__ import annotations

from http.cookies import Morsel, SimpleCookie

import anyio
import httpx
import pytest
from starlette.applications import Starlette

from pipeline.service.accounts import LIFETIME, Accounts
from pipeline.service.web.browsers import FormError
from pipeline.service.web.site import ACCOUNT, ADDRESS, PAIR, PasswordTries
from tests.service.conftest import VirtualClock
from tests.service.web.browsing import EMAIL, PASSWORD, Browser

pytestmark = pytest.mark.anyio

WRONG = "The e-mail address or the password is wrong."

MEMBERS_ONLY = ("/dashboard", "/statement", "/statement.csv", "/account", "/keys/1/revoke")


async def test_signing_up_logs_in_with_five_dollars(member: Browser, accounts: Accounts) -> None:
    assert "Balance 5.00 USD" in member.page.text
    account = accounts.find(EMAIL)
    assert account is not None
    assert accounts.keys.of(account.account_id) == []
    assert accounts.log_in(EMAIL, PASSWORD) == account.account_id


async def test_the_right_password_logs_in_and_no_other_does(
    browser: Browser, accounts: Accounts
) -> None:
    accounts.sign_up(EMAIL, PASSWORD)
    for email, password in [
        (EMAIL, "wrong"),
        (EMAIL, PASSWORD + " "),
        ("nobody@example.org", PASSWORD),
        ("not an address", PASSWORD),
    ]:
        response = await browser.log_in(email, password)
        assert response.status_code == 422
        assert browser.problems() == [WRONG]
        assert browser.form("/login")["email"] == [email]
        assert PASSWORD not in browser.response.text
        await browser.go("/dashboard")
        assert browser.place.startswith("/login")
    await browser.log_in(" Buyer@Example.ORG ")
    assert browser.place == "/dashboard"


@pytest.mark.parametrize("path", MEMBERS_ONLY)
async def test_a_page_of_an_account_is_shown_to_nobody_else(browser: Browser, path: str) -> None:
    await browser.go(path)
    assert browser.place.startswith("/login?next=")
    assert [response.status_code for response in browser.response.history] == [303]


async def test_logging_in_leads_to_the_page_that_was_asked_for(
    browser: Browser, accounts: Accounts
) -> None:
    accounts.sign_up(EMAIL, PASSWORD)
    await browser.go("/statement?before=7")
    await browser.send("/login", email=EMAIL, password="wrong")
    await browser.send("/login", email=EMAIL, password=PASSWORD)
    assert browser.place == "/statement"


@pytest.mark.parametrize(
    "next_path",
    [
        "https://evil.example/",
        "/\\evil.example",
        "/dashboard\r\nSet-Cookie: a=b",
        "/logout",
        "",
        "dashboard",
        "/dashboard?done=revoked",
    ],
)
async def test_nobody_is_sent_on_to_anywhere_else(
    browser: Browser, accounts: Accounts, next_path: str
) -> None:
    accounts.sign_up(EMAIL, PASSWORD)
    await browser.go("/login", params={"next": next_path})
    assert browser.form("/login")["next"] == ["/dashboard"]
    await browser.send("/login", email=EMAIL, password=PASSWORD, next=next_path)
    assert str(browser.response.url) == "http://service/dashboard"
    assert len(browser.response.history) == 1
    await browser.go("/login", params={"next": next_path})
    assert str(browser.response.url) == "http://service/dashboard"


async def test_logging_out_ends_the_session_wherever_its_cookie_is(
    member: Browser, other: Browser
) -> None:
    other.client.cookies.update(member.client.cookies)
    await other.go("/dashboard")
    assert other.place == "/dashboard"
    await member.send("/logout")
    assert member.place == "/login?done=logout"
    assert "You are logged out." in member.page.text
    await other.go("/dashboard")
    assert other.place.startswith("/login")
    await member.go("/dashboard")
    assert member.place.startswith("/login")


@pytest.mark.parametrize("path", ["/logout", "/keys", "/keys/1/revoke", "/account"])
async def test_a_form_left_open_after_logging_out_elsewhere_leads_to_the_log_in(
    member: Browser, path: str
) -> None:
    left_open = member.form("/logout")
    await member.send("/logout")
    assert (await member.post(path, left_open)).status_code == 200
    assert member.place.startswith("/login?next=")


async def test_a_session_is_over_after_its_time(member: Browser, clock: VirtualClock) -> None:
    clock.now += LIFETIME - 1
    await member.go("/dashboard")
    assert member.place == "/dashboard"
    clock.now += 2
    await member.go("/dashboard")
    assert member.place == "/login?next=%2Fdashboard"
    await member.go("/")
    assert "Log in" in member.page.text


async def test_a_guesser_is_locked_out_and_nobody_else(
    app: Starlette, accounts: Accounts, clock: VirtualClock, member: Browser
) -> None:
    wide = EMAIL.replace("example", "\uff45xample")  # the same domain
    guesser = Browser(app, address="198.51.100.1")
    for number in range(10):
        assert (await guesser.log_in((EMAIL.upper(), wide)[number % 2], "guess")).status_code == 422
    response = await guesser.log_in()
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "900"
    assert guesser.problems() == ["Too many attempts. Try again in 15 min."]
    # Of an account that there is not, a guesser learns nothing.
    statuses = [(await guesser.log_in("nobody@example.org", "a")).status_code for _ in range(11)]
    assert statuses == [422] * 10 + [429]
    await member.go("/dashboard")
    assert member.place == "/dashboard"
    for address in ("192.0.2.1", "203.0.113.7"):
        owner = Browser(app, address=address)
        await owner.log_in()
        assert owner.place == "/dashboard"
    clock.now += 901
    await guesser.log_in()
    assert guesser.place == "/dashboard"


async def test_sign_ups_of_one_address_are_limited(
    app: Starlette, accounts: Accounts, clock: VirtualClock
) -> None:
    for number in range(20):
        await Browser(app).sign_up(f"{number}@example.org")
    late = Browser(app)
    await late.go("/signup")
    response = await late.send("/signup", email="late@example.org", password=PASSWORD)
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "3600"
    assert len(accounts.all()) == 20
    await Browser(app, address="198.51.100.9").sign_up("elsewhere@example.org")
    clock.now += 3601
    await Browser(app).sign_up("late@example.org")


NEW = "another long password"


async def test_a_changed_password_ends_every_other_session(
    member: Browser, other: Browser, accounts: Accounts
) -> None:
    await other.log_in()
    old = member.client.cookies["tender_session"]
    await member.go("/account")
    await member.send("/account", current=PASSWORD, new=NEW)
    assert member.place == "/account?done=password"
    assert "Password changed" in member.page.text
    assert accounts.sessions.account_of(old) is None
    await other.go("/dashboard")
    assert other.place.startswith("/login")
    await member.go("/dashboard")
    assert member.place == "/dashboard"
    assert accounts.log_in(EMAIL, PASSWORD) is None
    assert accounts.log_in(EMAIL, NEW) == 1


async def test_tries_of_the_present_password_are_limited(
    member: Browser, accounts: Accounts
) -> None:
    await member.go("/account")
    for _ in range(10):
        response = await member.send("/account", current="guess", new=NEW)
        assert response.status_code == 422
    response = await member.send("/account", current=PASSWORD, new=NEW)
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "900"
    assert member.problems() == ["Too many attempts. Try again in 15 min."]
    assert accounts.log_in(EMAIL, PASSWORD) == 1


async def test_the_account_is_shown(member: Browser) -> None:
    await member.go("/account")
    facts = [row.text for row in member.page.each("dd")]
    assert facts == [EMAIL, "1", "2026-11-20 22:00:00", "5.00 USD"]


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
    await browser.post("/login", fields)  # again, which ends the session before
    assert browser.client.cookies["tender_session"] != token
    assert accounts.sessions.account_of(token) is None


async def test_an_invalid_session_is_dropped_where_it_is_seen(browser: Browser) -> None:
    response = await browser.go("/login", headers={"Cookie": "tender_session=planted"})
    assert cookies(response)["tender_session"]["max-age"] == "0"


@pytest.mark.parametrize("cookie", ["", "x" * 4000, "caf\u00e9", "a;b", '"', "%00", "=", "\u2028"])
async def test_a_cookie_that_is_not_ours_is_ignored(browser: Browser, cookie: str) -> None:
    header = f"tender_session={cookie}".encode()
    response = await browser.client.get("/dashboard", headers=[(b"Cookie", header)])
    assert response.status_code == 200
    assert response.url.path == "/login"


OWNER, HOME, RIGHT = "buyer@example.org", "192.0.2.1", 1


@pytest.fixture
def tries(clock: VirtualClock) -> PasswordTries:
    return PasswordTries()


async def looked_at(
    tries: PasswordTries, address: str, found: int | None = None, email: str = OWNER
) -> int:
    """Try a password; return the seconds to wait if it was not looked at, else 0."""

    async def look() -> int | None:
        return found

    try:
        assert await tries.account(email, address, look) == found
    except FormError as error:
        return error.wait
    return 0


async def test_right_passwords_do_not_count_and_do_not_make_up_for_wrong_ones(
    tries: PasswordTries,
) -> None:
    for _ in range(PAIR.slots - 1):
        assert await looked_at(tries, HOME) == 0
    for _ in range(3 * ADDRESS.slots):
        assert await looked_at(tries, HOME, RIGHT) == 0
    assert await looked_at(tries, HOME) == 0
    assert await looked_at(tries, HOME) == 900


async def test_many_at_once_are_not_one(tries: PasswordTries) -> None:
    waits = []

    async def guess() -> None:
        waits.append(await looked_at(tries, HOME))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(guess)
    assert sorted(waits) == [0] * PAIR.slots + [900] * (50 - PAIR.slots)


async def test_a_look_that_fails_does_not_count(tries: PasswordTries) -> None:
    async def look() -> int | None:
        raise OSError("the disk")

    for _ in range(PAIR.slots + 1):
        with pytest.raises(OSError, match="the disk"):
            await tries.account(OWNER, HOME, look)
    assert await looked_at(tries, HOME) == 0


async def test_an_address_is_bounded_over_all_accounts(tries: PasswordTries) -> None:
    for number in range(ADDRESS.slots):
        assert await looked_at(tries, "198.51.100.1", email=f"{number}@example.org") == 0
    assert await looked_at(tries, "198.51.100.1", email="more@example.org") == 900
    assert await looked_at(tries, HOME, email="more@example.org") == 0


async def test_guessing_is_bounded_from_however_many_addresses_and_locks_no_owner_out(
    tries: PasswordTries, clock: VirtualClock
) -> None:
    addresses = [f"198.51.100.{number}" for number in range(ACCOUNT.slots // PAIR.slots)]
    for address in addresses * PAIR.slots:
        assert await looked_at(tries, address) == 0
    assert [await looked_at(tries, address) for address in addresses] == [900] * len(addresses)
    elsewhere = "2001:db8::1"
    assert [await looked_at(tries, elsewhere) for _ in range(3)] == [0, 900, 900]
    assert [await looked_at(tries, HOME, RIGHT) for _ in range(3)] == [0, 0, 0]
    assert await looked_at(tries, elsewhere, email="other@example.org") == 0
    clock.now += 901
    assert await looked_at(tries, elsewhere) == 0
