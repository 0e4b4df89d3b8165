from __future__ import annotations

import logging
from decimal import Decimal
from typing import NoReturn

import pytest
from starlette.applications import Starlette

from pipeline.answers import MEASURED, Match, Matched, Matcher, System
from pipeline.json_log import FIELDS
from pipeline.money import plain
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts, Due
from pipeline.service.app import create_app
from tests.service.conftest import SCRIPTED, Answering, Caller, exact
from tests.service.web.browsing import EMAIL, PASSWORD, Browser

pytestmark = pytest.mark.anyio

ROAD_PRICE = Decimal("0.0000765")

ABOVE_ROADS = [
    "in 45 Bauarbeiten",
    "452 Komplett- oder Teilbauleistungen im…",
    "4523 Bauarbeiten für Rohrleitungen,…",
    "45233 Bauarbeiten, Fundamentierungsarbeiten…",
    "452331 Bauarbeiten für Fernstraßen und Straßen",
]
ABOVE_Y1LB = ["in Y Construction of structures/facilities", "Y1 Construction of buildings"]
THEN = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


async def ask(browser: Browser, text: str = "road", *systems: str) -> int:
    await browser.go("/try")
    return (await browser.send("/try", description=text, system=systems or ("cpv",))).status_code


def errors(browser: Browser) -> list[str]:
    return [each.text for each in browser.page.each("p") if each.attributes.get("class") == "error"]


async def test_an_answer_shows_what_the_interface_says(
    browser: Browser, app: Starlette, accounts: Accounts
) -> None:
    key = accounts.open().key
    await browser.sign_up()
    assert await ask(browser) == 200
    body = exact(await Caller(app, key).match())
    (table,) = browser.page.each("table")
    head, *rows = table.rows()
    assert head == ["Code", "Title", "Confidence"]
    assert [[code, sure.split()[0]] for code, _, sure in rows] == [
        [item["code"], f"{item['confidence']:.3f}"] for item in body["data"]
    ]
    for (_, title, _), item in zip(rows, body["data"], strict=True):
        assert title.startswith(item["title"])
    costs = body["metadata"]["costBreakdown"]
    base, markup, final = (plain(costs[name]) for name in ("apiCost", "markupAmount", "finalCost"))
    assert f"Price: {base} + 50 % markup, {markup} = {final} USD." in browser.page.text


def roads_in(system: System, sure: str, other: str) -> Answering:
    matches = (Match(sure, "Roads", 0.9), Match(other, "Signs", 0.1))
    return Answering(system, lambda _: Matched(matches))


async def test_titles_are_in_the_language_with_the_codes_above_and_what_the_first_code_is_worth(
    accounts: Accounts,
) -> None:
    roads: dict[System, Matcher] = {
        "cpv": roads_in("cpv", "45233140", "45000000"),
        "psc": roads_in("psc", "Y1LB", "nothing"),
    }
    browser = Browser(create_app(accounts, {**SCRIPTED, **roads}))
    await browser.go("/try")
    assert browser.form("/try")["language"] == ["en"]
    await browser.send("/try", description="road", system=("cpv", "psc"), language="de")
    assert browser.form("/try")["language"] == ["de"]
    cpv, psc = (table.rows()[1:] for table in browser.page.each("table"))
    assert cpv == [
        ["45233140", f"Straßenarbeiten {THEN.join(ABOVE_ROADS)}", "0.900 likely"],
        ["45000000", "Bauarbeiten", "0.100"],
    ]
    assert psc == [
        ["Y1LB", f"Roads {THEN.join(ABOVE_Y1LB)}", "0.900 likely"],
        ["nothing", "Signs", "0.100"],
    ]
    assert browser.response.text.count('lang="de"') == 2
    before, _, _ = browser.page.text.partition("Confidence")  # the heading of the first table
    assert f"In tests, an expert accepted {MEASURED['sure']} sure best codes" in before


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [("de-AT,de;q=0.9,en;q=0.8", "de"), ("ja, PL;q=0.5", "pl"), ("fil, ja", "en"), (",;", "en")],
)
async def test_the_titles_are_first_in_the_language_of_the_browser(
    browser: Browser, accepted: str, chosen: str
) -> None:
    browser.client.headers["Accept-Language"] = accepted
    await browser.go("/try")
    assert browser.form("/try")["language"] == [chosen]


async def test_with_an_account_each_system_is_a_call_that_is_charged(
    member: Browser, accounts: Accounts
) -> None:
    assert await ask(member, "road", "naics", "cpv") == 200
    assert "0.000153 USD charged" in member.page.text
    entries = accounts.statement.charges()
    assert [(e.system, e.price_usd, e.key_id) for e in entries] == [
        ("cpv", ROAD_PRICE, None),
        ("naics", ROAD_PRICE, None),
    ]
    assert accounts.balance(1) == 5 - 2 * ROAD_PRICE
    assert "charged to your balance of 4.999847 USD" in member.page.text


async def test_without_an_account_nobody_pays(browser: Browser, accounts: Accounts) -> None:
    assert await ask(browser) == 200
    assert "Nothing charged" in browser.page.text
    assert "Price:" not in browser.page.text
    assert accounts.statement.charges() == []


async def test_what_was_typed_and_chosen_stays(browser: Browser) -> None:
    await ask(browser, "road", "psc", "unspsc")
    form = browser.form("/try")
    assert form["description"] == ["road"]
    assert form["system"] == ["psc", "unspsc"]


async def test_lines_end_as_programs_end_them(accounts: Accounts) -> None:
    asked: list[str] = []

    def listen(text: str) -> Matched:
        asked.append(text)
        return Matched(())

    browser = Browser(create_app(accounts, {**SCRIPTED, "cpv": Answering("cpv", listen)}))
    await ask(browser, "Repair of\r\n roads ")
    assert asked == ["Repair of\n roads "]


async def test_a_text_in_arabic_begins_on_the_right(browser: Browser) -> None:
    await ask(browser, "\u062a\u0646\u0638\u064a\u0641")
    (typed,) = browser.page.each("textarea")
    (printed,) = (e for e in browser.page.each("p") if e.attributes.get("class") == "on-paper")
    assert typed.attributes["dir"] == printed.attributes["dir"] == "auto"


async def test_no_match_is_an_answer_too(browser: Browser) -> None:
    assert await ask(browser, "gibberish") == 200
    assert "No code found. Nothing charged." in browser.page.text
    await browser.sign_up()
    assert await ask(browser, "gibberish") == 200
    assert "No code found. Charged 0.0000705 USD." in browser.page.text


async def test_without_an_account_the_demo_limit_of_the_address_counts(
    browser: Browser, app: Starlette, other: Browser
) -> None:
    demo = Caller(app)
    for _ in range(8):
        assert (await demo.match()).status_code == 200
    assert await ask(browser, "road", "cpv", "psc", "unspsc") == 200
    assert len(list(browser.page.each("table"))) == 2
    assert errors(browser) == [
        "Too many requests without a key. Try again in 60 min. Sign up for more."
    ]
    assert await ask(browser) == 429
    assert browser.response.headers["Retry-After"] == "3600"
    assert (await demo.match()).status_code == 429
    assert await ask(other) == 200


@pytest.mark.parametrize("member", [False, True])
async def test_where_nothing_was_answered_nothing_is_charged(
    accounts: Accounts, member: bool
) -> None:
    browser = Browser(create_app(accounts, SCRIPTED, key_rate=Rate(1, 60), demo_rate=Rate(1, 60)))
    if member:
        await browser.sign_up()
    assert await ask(browser) == 200
    assert "No answer" not in browser.page.text
    assert await ask(browser) == 429
    who = "of this account. Try again in 60 s." if member else "without a key. "
    assert errors(browser)[0].startswith(f"Too many requests {who}")
    assert "No answer; nothing charged" in browser.page.text
    assert "0.00 USD" not in browser.page.text


async def test_what_was_charged_is_shown_though_another_call_fails(
    accounts: Accounts, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: str) -> NoReturn:
        raise RuntimeError("secret")

    browser = Browser(create_app(accounts, {**SCRIPTED, "psc": Answering("psc", fail)}))
    await browser.sign_up()
    assert await ask(browser, "road", "cpv", "psc", "naics") == 200
    assert len(list(browser.page.each("table"))) == 2
    number = browser.response.headers["X-Request-ID"]
    told = f"The service failed. Try again later; its log calls this request {number}."
    assert errors(browser) == [told]
    assert "secret" not in browser.response.text
    assert "0.000153 USD charged" in browser.page.text
    assert [entry.system for entry in accounts.statement.charges()] == ["cpv", "naics"]
    (failed,) = (record for record in caplog.records if record.exc_info)
    assert failed.__dict__[FIELDS] == {"request": number}
    assert await ask(browser, "road", "psc") == 500
    assert "No answer; nothing charged" in browser.page.text


async def test_a_balance_that_does_not_cover_the_price_is_reported(
    member: Browser, accounts: Accounts
) -> None:
    accounts.statement.charge([[Due(1, None, "cpv", 5 - ROAD_PRICE)]])
    assert await ask(member, "road", "cpv", "psc") == 200
    assert errors(member) == [
        "The balance does not cover the 0.0000765 USD of this call. Ask the operator to top it up."
    ]
    assert accounts.balance(1) == 0
    assert await ask(member) == 402
    assert accounts.balance(1) == 0


async def test_the_limits_on_the_page_are_those_that_are_set(accounts: Accounts) -> None:
    browser = Browser(create_app(accounts, SCRIPTED, key_rate=None, demo_rate=Rate(7, 90)))
    await browser.go("/try")
    said = "may make 7 requests in 90 s free of charge. Each system is one request."
    assert said in browser.page.text
    await browser.go("/")
    assert "With a key any number of requests" in browser.page.text
    assert "no real money changes hands" in browser.page.text
    assert "curl http://service/api/cpv/match" in browser.page.text
    browser = Browser(create_app(accounts, SCRIPTED, demo_rate=None))
    await browser.go("/try")
    assert "may make any number of requests free of charge. Description" in browser.page.text


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
