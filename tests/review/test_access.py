"""Only the browser that opened the link may use the page, and only from the page itself."""

from __future__ import annotations

import pytest

from tests.review.conftest import Open

pytestmark = pytest.mark.anyio


async def test_the_link_works_only_in_the_browser_that_opened_it(sit: Open) -> None:
    first = sit()
    assert (await first.go("/")).status_code == 403
    assert (await first.go("/start?token=guess")).status_code == 403
    assert (await first.client.head(f"/start?token={first.access.token}")).status_code == 403
    assert (await first.start()).status_code == 200
    assert "Which CPV code fits?" in first.response.text
    assert (await first.start()).status_code == 200  # the same browser opens the link again
    first.client.cookies.clear()
    assert (await first.go("/")).status_code == 403
    assert (await first.start()).status_code == 403
    assert "was used already" in first.page.text


async def test_the_cookie_is_out_of_reach_of_scripts_and_named_by_the_port(sit: Open) -> None:
    sitting = sit()
    response = await sitting.client.get(
        f"/start?token={sitting.access.token}", follow_redirects=False
    )
    cookie = response.headers["Set-Cookie"]
    assert cookie.startswith("tender_review_8123=")
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie
    assert sitting.access.token not in cookie


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8123", "127.0.0.1.evil.example", ""]
)
async def test_another_host_is_refused_even_with_the_cookie(sit: Open, host: str) -> None:
    sitting = sit()
    await sitting.start()
    assert (await sitting.go("/", Host=host)).status_code == 400
    assert (await sitting.go("/", Host="localhost:8123")).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),  # another port of this machine
        ({"Content-Type": "application/json"}, 415),
    ],
)
@pytest.mark.parametrize("path", ["/decide", "/undo", "/accept"])
async def test_a_form_of_another_site_decides_nothing(
    sit: Open, path: str, headers: dict[str, str], status: int
) -> None:
    sitting = sit()
    await sitting.start()
    form = {"item": "1", "choice": "none", "count": "2"}
    response = await sitting.post(path, headers=headers, **form)
    assert response.status_code == status
    assert sitting.decisions == ()
    sitting.client.cookies.clear()
    assert (await sitting.post(path, **form)).status_code == 403


async def test_every_response_has_the_security_headers(sit: Open) -> None:
    sitting = sit()
    await sitting.start()
    for path in ("/", "/accept", "/nothing", "/static/nothing.css"):
        policy = (await sitting.go(path)).headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    style = next(each for each in sitting.page.each("link") if "review" in each.attributes["href"])
    assert (await sitting.go(style.attributes["href"])).status_code == 200


@pytest.mark.parametrize(
    "form",
    [
        {"item": "99", "choice": "none"},
        {"item": "x", "choice": "none"},
        {"item": "9" * 30, "choice": "none"},
        {"item": "1", "choice": "00000000"},
        {"item": "1", "choice": ""},
        {"item": "1", "choice": "undo"},
        {"choice": "none"},
    ],
)
async def test_what_cannot_be_chosen_is_refused(sit: Open, form: dict[str, str]) -> None:
    sitting = sit()
    await sitting.start()
    assert (await sitting.post("/decide", **form)).status_code == 422
    assert sitting.decisions == ()
