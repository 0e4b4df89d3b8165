from __future__ import annotations

import asyncio
import threading
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette

from pipeline.service.accounts import Accounts, Entry
from pipeline.service.app import ROUTES
from pipeline.service.web.browsers import MAX_FORM
from tests.service.web.browsing import EMAIL, FORM, PASSWORD, Browser, Fields

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", [path for path, _, _, action in ROUTES if action is not None])
@pytest.mark.parametrize(
    ("media_type", "body", "status"),
    [
        ("application/json", b"{}", 415),
        ("multipart/form-data; boundary=x", b"--x--", 415),
        ("text/plain", b"name=a", 415),
        ("", b"name=a", 415),
        (FORM, b"x" * (MAX_FORM + 1), 413),
        (FORM, b"email=%ff", 400),
        (FORM, "email=\u00fc".encode(), 400),
        (FORM, b"&".join(b"a=b" for _ in range(21)), 400),
    ],
)
async def test_only_a_form_of_some_size_is_read(
    member: Browser, path: str, media_type: str, body: bytes, status: int
) -> None:
    member.response = await member.client.post(
        path.replace("{key_id}", "1"),
        content=body,
        headers={"Content-Type": media_type, "Origin": "http://service"},
    )
    assert member.response.status_code == status
    assert next(member.page.each("h1")).text


async def test_a_field_that_is_sent_twice_counts_once(member: Browser, accounts: Accounts) -> None:
    await member.send("/keys", name=["first", "second"])
    assert [key.name for key in accounts.keys.of(1)] == ["first"]


async def test_few_passwords_are_hashed_at_once(
    app: Starlette, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, running, most = threading.Lock(), 0, 0
    enough, two = threading.Event(), threading.Event()

    def slow(email: str, password: str) -> int | None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 2:
                two.set()
        enough.wait(10)
        with lock:
            running -= 1
        return None

    monkeypatch.setattr(accounts, "log_in", slow)
    visitors = [Browser(app, address=f"198.51.100.{number}") for number in range(8)]
    for visitor in visitors:
        await visitor.go("/login")
    tries = [
        asyncio.create_task(visitor.send("/login", email=f"{n}@example.org", password=PASSWORD))
        for n, visitor in enumerate(visitors)
    ]
    assert await asyncio.to_thread(two.wait, 10)
    # While they are hashed, other pages are shown.
    assert (await Browser(app).go("/")).status_code == 200
    enough.set()
    assert [response.status_code for response in await asyncio.gather(*tries)] == [422] * 8
    assert most == 2


FILLED_IN: dict[str, Fields] = {
    "/account": {"current": PASSWORD, "new": "another long password"},
    "/keys": {"name": "planted"},
    "/keys/1/revoke": {},
    "/login": {"email": EMAIL, "password": PASSWORD},
    "/logout": {},
    "/signup": {"email": "new@example.org", "password": PASSWORD},
    "/try": {"description": "road", "system": "cpv"},
}
"""Every form that does something, filled in."""


ELSEWHERE: tuple[dict[str, str], ...] = (
    {},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://service"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://service.evil.example"},
    {"Origin": "null"},
    {"Origin": "http://["},
    {"Referer": "https://evil.example/service"},
    {"Origin": "https://evil.example", "Referer": "http://service/login"},
)
"""Headers that browsers send with a form of another site, or that do not say where it is from."""


def state(accounts: Accounts) -> tuple[int, list[object], list[Entry], bool]:
    """Return everything that a form could change."""
    keys: list[object] = list(accounts.keys.of(1))
    right = accounts.log_in(EMAIL, PASSWORD) == 1
    return len(accounts.all()), keys, accounts.statement.charges(), right


EMPTY = "The description is empty. Say what is to be bought."
NO_SYSTEM = "No system is chosen. Choose at least one."


@pytest.mark.parametrize(
    ("path", "typed", "told"),
    [
        ("/signup", {"email": ""}, ["Enter your e-mail address."]),
        (
            "/signup",
            {"email": "nobody"},
            ["This is not an e-mail address. Write it like name@example.org."],
        ),
        (
            "/signup",
            {"email": f"{EMAIL.upper()} "},
            ["This e-mail address already has an account. Log in."],
        ),
        ("/signup", {"password": ""}, ["Enter a password."]),
        ("/signup", {"password": "a"}, ["The password has 1 character. Use 10 to 500."]),
        ("/signup", {"password": "x" * 501}, ["The password has 501 characters. Use 10 to 500."]),
        (
            "/login",
            {"email": "", "password": ""},
            ["Enter your e-mail address.", "Enter your password."],
        ),
        ("/account", {"current": ""}, ["Enter your current password."]),
        ("/account", {"current": "wrong"}, ["This is not your current password."]),
        ("/account", {"new": ""}, ["Enter a password."]),
        ("/account", {"new": "short"}, ["The password has 5 characters. Use 10 to 500."]),
        (
            "/keys",
            {"name": "n" * 101},
            ["The name of the key has 101 characters. Shorten it to 100."],
        ),
        ("/try", {"description": ""}, [EMPTY]),
        ("/try", {"description": " \r\n\t "}, [EMPTY]),
        (  # even of the widest characters, the form is read
            "/try",
            {"description": "\U0001f6e3" * 20_001},
            ["The description has 20,001 characters. Shorten it to 20,000."],
        ),
        ("/try", {"system": ()}, [NO_SYSTEM]),
        ("/try", {"system": "ted"}, [NO_SYSTEM]),
        (
            "/try",
            {"language": "xx"},
            ["There are no titles in this language. Choose one from the list."],
        ),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_what_is_wrong_is_reported_beside_the_field_and_changes_nothing(
    member: Browser, accounts: Accounts, path: str, typed: Fields, told: list[str]
) -> None:
    session, before = member.client.cookies["tender_session"], state(accounts)
    fields = {**FILLED_IN[path], **typed}
    assert (await member.post(path, fields)).status_code == 422
    assert next(member.page.each("title")).text.startswith("Error: ")
    assert [member.field_error(name) for name in typed] == member.problems() == told
    for name, shown in member.form(path).items():
        if name in ("password", "current", "new"):
            assert shown == [""]
        elif name in ("email", "name", "description") and name in fields:
            assert shown == [fields[name]]
    assert PASSWORD not in member.response.text
    assert state(accounts) == before
    assert accounts.sessions.account_of(session) == 1


@pytest.fixture
async def owner(member: Browser) -> Browser:
    """Somebody who has a key."""
    await member.make_key()
    return member


@pytest.mark.parametrize("path", FILLED_IN)
async def test_a_form_from_another_site_is_refused(
    owner: Browser, accounts: Accounts, path: str
) -> None:
    session = owner.client.cookies["tender_session"]
    before = state(accounts)
    content = urlencode(FILLED_IN[path], doseq=True)
    for headers in ELSEWHERE:
        sent = {"Content-Type": FORM, **headers}
        owner.response = await owner.client.post(path, content=content, headers=sent)
        assert owner.response.status_code == 403, headers
        assert "This form did not come from this site" in owner.page.text
        assert owner.response.history == []
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
    owner: Browser, accounts: Accounts, headers: dict[str, str]
) -> None:
    content = urlencode(FILLED_IN["/keys"])
    sent = {"Content-Type": FORM, **headers}
    owner.response = await owner.client.post("/keys", content=content, headers=sent)
    assert "Your new key" in owner.page.text
    assert len(accounts.keys.of(1)) == 2
