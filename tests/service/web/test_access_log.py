from __future__ import annotations

import logging

import pytest

from pipeline.json_log import FIELDS
from tests.service.web.browsing import EMAIL, PASSWORD, Browser

pytestmark = pytest.mark.anyio


async def test_the_log_says_which_page_whose_account_and_what_it_cost_and_nothing_secret(
    browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "pipeline")
    await browser.sign_up()
    key = await browser.make_key("the name of the key")
    await browser.go("/keys/1/revoke")
    await browser.go("/try")
    await browser.send("/try", description="gibberish", system=["cpv", "psc"])
    lines = [getattr(each, FIELDS) for each in caplog.records if each.name == "pipeline.service"]
    assert [
        (line["method"], line["route"], line.get("account"), line.get("price_usd"))
        for line in lines
    ] == [
        ("GET", "/signup", None, None),
        ("POST", "/signup", 1, None),
        ("GET", "/dashboard", 1, None),
        ("GET", "/dashboard", 1, None),
        ("POST", "/keys", 1, None),
        ("GET", "/keys/{key_id}/revoke", 1, None),
        ("GET", "/try", 1, None),
        ("POST", "/try", 1, "0.000141"),
    ]
    secrets = [EMAIL, PASSWORD, key, "the name of the key", "gibberish"]
    secrets += list(browser.client.cookies.values())
    logged = " ".join(str(each.__dict__) for each in caplog.records if "pipeline" in each.name)
    assert not [secret for secret in secrets if secret in logged]
