from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette

from pipeline.service.accounts import Accounts
from pipeline.service.web.forms import MAX_FORM
from tests.service.web.browsing import CHROMIUM, FORM, PASSWORD, Browser

pytestmark = pytest.mark.anyio

FORMS = ("/account", "/keys", "/keys/1/revoke", "/login", "/logout", "/signup", "/try")


@pytest.mark.parametrize("path", FORMS)
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
    browser: Browser, path: str, media_type: str, body: bytes, status: int
) -> None:
    await browser.sign_up()
    browser.response = await browser.client.post(
        path, content=body, headers={"Content-Type": media_type, "Origin": "http://service"}
    )
    assert browser.response.status_code == status
    assert next(browser.page.each("h1")).text


@pytest.mark.parametrize("media_type", [FORM, FORM + "; charset=utf-8", FORM.upper()])
async def test_the_type_of_a_form_may_have_parameters_and_capitals(
    browser: Browser, media_type: str
) -> None:
    headers = {"Content-Type": media_type, "Origin": "http://service"}
    response = await browser.client.post("/try", content=b"", headers=headers)
    assert response.status_code == 422  # read, and without a description


async def test_a_form_without_end_is_not_read_to_its_end(browser: Browser) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b"x" * 1024

    headers = {"Content-Type": FORM, "Accept": CHROMIUM, "Origin": "http://service"}
    response = await browser.client.post("/try", content=endless(), headers=headers)
    assert response.status_code == 413
    assert sent <= MAX_FORM // 1024 + 2


async def test_a_field_that_is_sent_twice_counts_once(browser: Browser, accounts: Accounts) -> None:
    await browser.sign_up()
    await browser.send("/keys", name=["first", "second"])
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
