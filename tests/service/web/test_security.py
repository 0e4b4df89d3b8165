from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from pipeline.answers import Match, Matched
from pipeline.service.accounts import Accounts
from pipeline.service.app import ROUTES, create_app
from pipeline.service.web.browsers import PageFiles
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


PATHS = [path.replace("{key_id}", "1") for path, *_ in ROUTES]
PATHS += ["/api/cpv/match", "/broken", "/health", "/nothing", "/openapi.json", "/static/no.css"]


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_every_response_says_what_browsers_may_do_with_it(
    app: Starlette, scheme: str, method: str
) -> None:
    def broken(_: Request) -> NoReturn:
        raise RuntimeError("secret")

    app.add_route("/broken", broken)
    member, guest = Browser(app, scheme), Browser(app, scheme)
    await member.sign_up()
    for client in (member.client, guest.client):
        client.follow_redirects = False
        for path in PATHS:
            for accept in ("text/html", "application/json"):
                _check(await client.request(method, path, headers={"Accept": accept}), scheme)


def _check(response: httpx.Response, scheme: str) -> None:
    headers = response.headers
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert ("Strict-Transport-Security" in headers) == (scheme == "https")


async def test_pages_load_a_style_sheet_and_an_icon_and_no_other_file_is_served(
    browser: Browser,
) -> None:
    await browser.go("/")
    (sheet, icon) = (link.attributes["href"] for link in browser.page.each("link"))
    for path, media_type in ((sheet, "text/css; charset=utf-8"), (icon, "image/svg+xml")):
        response = await browser.go(path)
        assert response.status_code == 200
        assert response.headers["Content-Type"] == media_type
        assert "Set-Cookie" not in response.headers
        assert response.headers["Cache-Control"] == "max-age=300"
    above = ("%2e%2e/site.py", "..%2fsite.py", "%2fetc%2fpasswd", "templates/base.html")
    for path in (*above, "", sheet[1:], "a" * 5000, "%00"):
        assert (await browser.client.get(f"/static/{path}")).status_code == 404


async def test_a_file_of_pages_may_be_a_link_as_some_installers_make_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache.css").write_text("p {}", encoding="utf-8")
    folder = tmp_path / "site" / "linked_pages" / "static"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "style.css").symlink_to(tmp_path / "cache.css")
    monkeypatch.syspath_prepend(tmp_path / "site")
    client = Browser(Starlette(routes=[Mount("/static", PageFiles("linked_pages"))])).client
    assert (await client.get("/static/style.css")).text == "p {}"
    assert (await client.get("/static/%2e%2e/__init__.py")).status_code == 404


async def test_nothing_is_loaded_from_elsewhere(browser: Browser) -> None:
    await browser.go("/")
    sheet = next(browser.page.each("link")).attributes["href"]
    assert not re.search(r"url\(|@import|https?:", (await browser.go(sheet)).text)
