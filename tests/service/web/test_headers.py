from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from pipeline.service.app import ROUTES
from pipeline.service.http.browsers import PageFiles
from tests.service.web.browsing import Browser

pytestmark = pytest.mark.anyio

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
