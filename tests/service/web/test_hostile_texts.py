from __future__ import annotations

from decimal import Decimal

import pytest

from pipeline.answers import Match, Matched
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from tests.service.conftest import SCRIPTED, Answering
from tests.service.web.browsing import Browser

pytestmark = pytest.mark.anyio

TEXTS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus='alert(1)",
    "</textarea></title></td><script>x</script>",
    "{{ visitor.token }} {% raw %}",
    "&lt;b&gt; &amp;amp; &#60;",
    "\u202egnp.exe",
    "a\0b\x1b[31m",
    "\ufeff\u2028\u2029",
    "\u0645\u0641\u062a\u0627\u062d",
)


def elements(browser: Browser) -> list[str]:
    """Return the names of all elements: text that became markup would add to them."""
    return [each.tag for each in browser.page.each("*")]


@pytest.mark.parametrize("text", TEXTS)
async def test_names_of_keys_are_text_wherever_they_are_shown(
    member: Browser, accounts: Accounts, text: str
) -> None:
    await member.make_key("harmless")
    pages = ["/dashboard", "/statement", "/keys/1/revoke"]
    accounts.statement.top_up(1, Decimal(1), "harmless")
    harmless = {}
    for path in pages:
        await member.go(path)
        harmless[path] = elements(member)
    accounts.keys.revoke(1, 1)
    await member.make_key(text)
    accounts.statement.top_up(1, Decimal(1), text)
    shown = " ".join(text.split())
    assert shown in member.page.text
    for path in pages:
        await member.go(path.replace("1", "2"))
        assert any(shown in each.text for each in member.page.each("bdi"))
        assert set(elements(member)) == set(harmless[path]) | _revoked(path)


def _revoked(path: str) -> set[str]:
    return {"details", "summary"} if path == "/dashboard" else set()


@pytest.mark.parametrize("text", TEXTS)
async def test_what_was_typed_comes_back_as_text(browser: Browser, text: str) -> None:
    for path, action, field in [
        ("/login", "/login", "email"),
        ("/signup", "/signup", "email"),
        ("/try", "/try", "description"),
    ]:
        await browser.go(path)
        before = elements(browser)
        await browser.send(action, **{field: text, "password": "wrong", "system": "ted"})
        assert browser.response.status_code == 422
        assert browser.form(action)[field] == [text]
        added = set(elements(browser)) - set(before)
        assert added <= {"div", "h2", "li", "ul", "span"}


@pytest.mark.parametrize("text", TEXTS)
async def test_codes_and_titles_are_text(accounts: Accounts, text: str) -> None:
    hostile = Answering("cpv", lambda _: Matched((Match(text, text, 0.5),)))
    browser = Browser(create_app(accounts, {**SCRIPTED, "cpv": hostile}))
    await browser.go("/try")
    await browser.send("/try", description="road", system="cpv")
    (table,) = browser.page.each("table")
    shown = " ".join(text.split())
    assert table.rows()[1][:2] == [shown, shown]
    assert {each.tag for each in table.each("*")} <= {
        *("thead", "tbody", "tfoot", "tr", "th", "td", "svg", "rect", "span")
    }


@pytest.mark.parametrize("host", ["evil.example/<script>", '"><script>', "[", "a b", "x:99999999"])
async def test_an_invalid_host_does_not_reach_the_page(browser: Browser, host: str) -> None:
    for path in ("/", "/login", "/nothing"):
        await browser.go(path, headers={"Host": host})
        assert browser.response.status_code in (200, 404)
        assert "<script>" not in browser.response.text
        assert len(list(browser.page.each("script"))) == 0


@pytest.mark.parametrize("path", ["/<script>alert(1)</script>", "/%3Cscript%3E", "/\u202e", "/%00"])
async def test_an_unknown_path_is_not_repeated(browser: Browser, path: str) -> None:
    await browser.go(path)
    assert browser.response.status_code == 404
    assert next(browser.page.each("h1")).text == "Page not found"
    assert "script" not in browser.page.text
