"""The page that documents the interface: true of this deployment, and fit to be copied from."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys

import pytest

from pipeline.answers import SYSTEMS
from pipeline.rate import Rate
from pipeline.service.accounts import STARTING_BALANCE, Accounts
from pipeline.service.app import create_app, engine_matchers
from pipeline.service.http.messages import METADATA, Metadata
from pipeline.service.spec import DESCRIPTION, FAILURES
from tests.paid.serving import serving
from tests.service.conftest import SCRIPTED, Caller, exact
from tests.service.web.browsing import Browser

pytestmark = pytest.mark.anyio


async def text_of(accounts: Accounts, metadata: Metadata = "detailed", **rates: Rate | None) -> str:
    client = Caller(create_app(accounts, SCRIPTED, metadata=metadata, **rates)).client
    response = await client.get("/docs")
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    return response.text


def plain(page: str) -> str:
    """Return what a page says, without its marks."""
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", page)).split())


async def test_it_has_every_endpoint_error_and_limit(accounts: Accounts) -> None:
    page = await text_of(accounts)
    assert page.count("<table") == page.count('<table class="stacked">')  # readable on a phone
    said = plain(page)
    for system in SYSTEMS:
        assert f"POST /api/{system}/match" in said
    for one in FAILURES:
        assert f"{one.status} {one.error} {one.when} {one.then}" in said
    assert "1 to 20,000 characters" in said
    assert "at most 262,144 bytes" in said
    assert "at most 10 matches" in said
    assert f"{STARTING_BALANCE} USD" in said
    assert "0.0000705 to 0.00015 USD" in said
    assert "47 + 2 per match + 1 per 16 characters of titles" in said
    assert "50 % of the base price" in said


@pytest.mark.parametrize("metadata", METADATA)
async def test_the_forms_are_those_of_this_deployment(
    accounts: Accounts, metadata: Metadata
) -> None:
    said = plain(await text_of(accounts, metadata))
    assert ("metadata.costBreakdown.finalCost" in said) == (metadata != "compact")
    assert ("metadata.cost.apiCost" in said) == (metadata != "detailed")
    assert ("The detailed form {" in said) == (metadata != "compact")
    assert ("The compact form {" in said) == (metadata != "detailed")
    assert ("uses both forms" in said) == (metadata == "mixed")


async def test_its_own_address_is_the_one_that_was_asked(accounts: Accounts) -> None:
    client = Caller(create_app(accounts, SCRIPTED)).client
    page = (await client.get("https://tenders.example:8443/docs")).text
    assert "curl https://tenders.example:8443/api/cpv/match" in page
    evil = await client.get("/docs", headers={"Host": '"><script>alert(1)</script>'})
    assert "<script" not in evil.text


async def test_its_examples_work_as_they_are_copied(accounts: Accounts) -> None:
    key = accounts.open().key
    environment = os.environ | {"TENDER_PIPELINE_API_KEY": key, "NO_PROXY": "*"}
    app = create_app(accounts, engine_matchers(), metadata="compact")
    expected = exact(await Caller(app, key).match(DESCRIPTION))
    with serving(app) as address:
        page = (await Caller(app).client.get(f"{address}/docs")).text
        curl, python, *_ = re.findall("<pre[^>]*><code>(.*?)</code>", page, re.DOTALL)
        program = html.unescape(python)
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[:-1] == [
            f"{match['code']} {match['title']} {match['confidence']}" for match in expected["data"]
        ]
        assert str(expected["metadata"]["cost"]["apiCost"]) in done.stdout
        if shutil.which("curl"):
            command = ["sh", "-c", html.unescape(curl).replace("curl ", "curl -s ", 1)]
            copied = subprocess.run(command, env=environment, capture_output=True, check=True)
            assert copied.stdout == (await Caller(app, key).match(DESCRIPTION)).content
    assert len(accounts.statement.charges()) == (4 if shutil.which("curl") else 2)


def links(browser: Browser) -> list[str]:
    return [each.attributes["href"] for each in browser.page.each("a")]


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


async def test_the_current_place_is_marked(member: Browser) -> None:
    for path in ("/dashboard", "/statement", "/try", "/docs", "/account"):
        await member.go(path)
        marked = [each for each in member.page.each("a") if "aria-current" in each.attributes]
        assert [each.attributes["href"] for each in marked] == [path]
