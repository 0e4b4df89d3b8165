from __future__ import annotations

import logging
from typing import Any

import pytest

from pipeline.json_log import FIELDS
from pipeline.service.accounts import Accounts
from tests.service.web.browsing import EMAIL, PASSWORD, Browser

pytestmark = pytest.mark.anyio


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [getattr(each, FIELDS) for each in caplog.records if each.name == "pipeline.service"]


async def test_the_log_says_which_page_whose_account_and_what_it_cost(
    browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pipeline.service")
    await browser.go("/login")
    await browser.sign_up()
    await browser.make_key()
    await browser.go("/keys/1/revoke")
    await browser.go("/try")
    await browser.send("/try", description="road", system=["cpv", "psc"])
    assert [
        (line["method"], line["route"], line.get("account"), line.get("price_usd"))
        for line in lines(caplog)
    ] == [
        ("GET", "/login", None, None),
        ("GET", "/signup", None, None),
        ("POST", "/signup", 1, None),
        ("GET", "/dashboard", 1, None),
        ("GET", "/dashboard", 1, None),
        ("POST", "/keys", 1, None),
        ("GET", "/keys/{key_id}/revoke", 1, None),
        ("GET", "/try", 1, None),
        ("POST", "/try", 1, "0.000153"),
    ]


async def test_nothing_that_is_secret_or_typed_is_in_the_log(
    browser: Browser, accounts: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "pipeline")
    await browser.sign_up()
    key = await browser.make_key("the name of the key")
    await browser.go("/try")
    await browser.send("/try", description="gibberish", system="cpv")
    await browser.go("/statement?before=12345")
    secrets = [EMAIL, PASSWORD, key, "the name of the key", "gibberish", "12345"]
    secrets += list(browser.client.cookies.values())
    logged = " ".join(str(each.__dict__) for each in caplog.records if "pipeline" in each.name)
    assert len(lines(caplog)) == 8
    assert not [secret for secret in secrets if secret in logged]
