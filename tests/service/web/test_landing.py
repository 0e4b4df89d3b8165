from __future__ import annotations

import pytest

from tests.service.web.browsing import Browser

pytestmark = pytest.mark.anyio


def links(browser: Browser) -> list[str]:
    return [each.attributes["href"] for each in browser.page.each("a")]


async def test_the_first_page_says_that_it_is_play_money_and_whose(browser: Browser) -> None:
    await browser.go("/")
    text = browser.page.text
    assert "no real money changes hands" in text
    assert "It runs on this server" in text
    assert "A new account starts with 5.00 USD" in text
    assert "A call costs 0.0000705 to 0.00015 USD" in text
    assert "With a key 100 requests a minute" in text
    assert "Without a key 10 requests an hour" in text
    assert "curl http://service/api/cpv/match" in text


async def test_every_page_leads_to_the_others(browser: Browser) -> None:
    await browser.go("/")
    for path in links(browser):
        if path.startswith("/"):
            assert (await browser.go(path)).status_code == 200, path
    await browser.sign_up()
    for path in links(browser):
        if path.startswith("/"):
            assert (await browser.go(path)).status_code == 200, path
            assert browser.place == path


async def test_the_current_place_is_marked(browser: Browser) -> None:
    await browser.sign_up()
    for path in ("/dashboard", "/statement", "/try", "/docs", "/account"):
        await browser.go(path)
        marked = [each for each in browser.page.each("a") if "aria-current" in each.attributes]
        assert [each.attributes["href"] for each in marked] == [path]


async def test_a_keyboard_comes_to_the_content_first(browser: Browser) -> None:
    for path in ("/", "/login", "/try", "/nothing"):
        await browser.go(path)
        first = next(browser.page.each("a"))
        assert first.text == "Skip to the content"
        assert browser.page.by_id(first.attributes["href"].removeprefix("#")).tag == "main"
