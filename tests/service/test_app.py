"""The interface, rule by rule, without a socket."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import Match
from pipeline.money import total
from pipeline.paid.client.outcomes import Answered
from pipeline.paid.client.responses import read_response
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app, engine_matchers
from pipeline.service.http.messages import Metadata
from pipeline.service.limits import SOON, SlidingWindow, network_of
from pipeline.service.pricing import HIGHEST, LOWEST, price
from tests.service.conftest import (
    ROAD_PRICE,
    SCRIPTED,
    Caller,
    VirtualClock,
    envelope,
    exact,
    virtual_limits,
)

pytestmark = pytest.mark.anyio


async def test_a_call_gets_an_envelope_with_matches_and_their_price(accounts: Accounts) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED), account.key).match()
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    body = exact(response)
    assert list(body) == ["success", "message", "data", "metadata"]
    assert body["success"] is True
    assert body["message"] == "API call was successful"
    assert [(m["code"], m["title"], m["confidence"]) for m in body["data"]] == [
        ("45233140", "Roadworks", Decimal("0.9")),
        ("45233000", "Roads", Decimal("0.4")),
    ]
    costs = body["metadata"]["costBreakdown"]
    assert costs == {
        "apiCost": Decimal("0.000051"),
        "markupPercentage": 50,
        "markupAmount": Decimal("0.0000255"),
        "finalCost": ROAD_PRICE,
        "currency": "USD",
    }
    assert total(item["cost"] for item in body["data"]) == costs["apiCost"]
    assert accounts.balance(account.account_id) == 5 - ROAD_PRICE


async def test_an_unknown_key_is_unauthorized_and_so_are_two_keys(accounts: Accounts) -> None:
    one, two = (accounts.open().key for _ in range(2))
    client = Caller(create_app(accounts, SCRIPTED)).client
    for keys in (["tp_unknown"], [""], ["schl\u00fcssel"], [one, two], [one, one]):
        headers = [(b"X-API-Key", key.encode("latin-1")) for key in keys]
        request = {"description": "road"}
        response = await client.post("/api/cpv/match", json=request, headers=headers)
        assert envelope(response) == (401, "UNAUTHORIZED")
        assert "Send another X-API-Key." in response.json()["message"]
    assert accounts.statement.charges() == []


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"Authorization": "Bearer {}"}, ""),
        ({"X-Api-Token": "{}"}, ""),
        ({"Cookie": "X-API-Key={}"}, ""),
        ({}, "?X-API-Key={}&api_key={}"),
    ],
)
async def test_there_is_no_other_way_in(
    accounts: Accounts, headers: dict[str, str], query: str
) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED)).client.post(
        "/api/cpv/match" + query.replace("{}", account.key),
        json={"description": "road"},
        headers={name: value.format(account.key) for name, value in headers.items()},
    )
    assert response.status_code == 200
    assert accounts.balance(account.account_id) == 5  # it was a demo request


async def test_an_account_has_100_requests_a_minute_whatever_its_key_and_address(
    accounts: Accounts, clock: VirtualClock
) -> None:
    account = accounts.open()
    keys = [account.key, accounts.keys.make(account.account_id, "another").key]
    app = create_app(accounts, SCRIPTED)
    callers = [Caller(app, keys[number % 2], f"192.0.2.{number}") for number in range(4)]
    for number in range(100):
        assert (await callers[number % 4].match()).status_code == 200
        clock.now += 0.25
    response = await callers[0].match()
    assert envelope(response) == (429, "RATE_LIMIT_EXCEEDED")
    assert response.headers["Retry-After"] == "35"
    assert "Wait 35 s" in response.json()["message"]
    assert (await Caller(app, accounts.open().key).match()).status_code == 200
    clock.now += 34.5
    assert (await callers[0].match()).headers["Retry-After"] == "1"
    clock.now += 0.501
    assert [(await callers[0].match()).status_code for _ in range(2)] == [200, 429]
    assert len(accounts.statement.charges()) == 102


async def test_the_longest_description_fits_however_it_is_escaped(accounts: Accounts) -> None:
    caller = Caller(create_app(accounts, engine_matchers()))
    assert (await caller.match("\U0001f6e3" * 20_000, "naics")).status_code == 200
    response = await caller.match("x" * 20_001, "naics")
    assert envelope(response) == (400, "VALIDATION_ERROR")
    assert "Shorten it to 20,000." in response.json()["message"]


@pytest.mark.parametrize("text", ["not in the script", "refused"])
async def test_a_fault_of_the_engine_is_an_internal_error_that_says_nothing_and_costs_nothing(
    accounts: Accounts, text: str
) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED), account.key).match(text)
    assert envelope(response) == (500, "INTERNAL_ERROR")
    assert response.json()["message"].startswith("The service failed. Try again later; ")
    assert accounts.balance(account.account_id) == 5


@pytest.mark.parametrize(
    ("form", "stated"),
    [
        (
            "detailed",
            {
                "costBreakdown": {
                    "apiCost": 0,
                    "markupPercentage": 50,
                    "markupAmount": 0,
                    "finalCost": 0,
                    "currency": "USD",
                }
            },
        ),
        ("compact", {"cost": {"apiCost": 0}}),
    ],
)
async def test_a_demo_call_states_the_price_0_and_nobody_pays(
    accounts: Accounts, form: Metadata, stated: object
) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED, metadata=form)).match()
    body = exact(response)
    assert body["metadata"] == stated
    assert [item.get("cost", 0) for item in body["data"]] == [0, 0]
    read = read_response(200, {}, response.content)
    assert isinstance(read, Answered)
    assert read.cost_usd == 0, "a price that a run can use"
    assert accounts.statement.charges() == []
    assert accounts.balance(account.account_id) == 5


async def test_a_request_that_is_not_valid_counts_but_costs_nothing(
    accounts: Accounts, clock: VirtualClock
) -> None:
    account = accounts.open()
    app = create_app(accounts, SCRIPTED, key_rate=Rate(1, 60))
    caller = Caller(app, account.key)
    assert envelope(await caller.match("  ")) == (400, "VALIDATION_ERROR")
    assert envelope(await caller.match()) == (429, "RATE_LIMIT_EXCEEDED")
    assert accounts.balance(account.account_id) == 5


titles = st.lists(st.text(max_size=120), max_size=10)


def matches(titles: list[str]) -> list[Match]:
    return [Match(str(place), title, 0.5) for place, title in enumerate(titles)]


def test_the_formula_is_47_and_2_a_match_and_1_per_16_characters_and_half_on_top() -> None:
    due = price(matches(["x" * 15, "x" * 17]))
    assert due.base == Decimal("0.000053")
    assert due.markup == Decimal("0.0000265")
    assert due.final == Decimal("0.0000795")
    assert due.shares == (Decimal("0.0000265"), Decimal("0.0000265"))


def test_no_matches_cost_least_and_ten_long_titles_most() -> None:
    assert price([]) == LOWEST
    assert (LOWEST.final, LOWEST.shares) == (Decimal("0.0000705"), ())
    for characters in (53, 5000):
        assert price(matches(["x" * characters] * 10)) == HIGHEST
    assert HIGHEST.final == Decimal("0.00015")


@given(titles)
def test_a_price_is_in_range_adds_up_to_the_last_digit_and_is_written_plainly(
    titles: list[str],
) -> None:
    due = price(matches(titles))
    assert LOWEST.final <= due.final <= HIGHEST.final
    assert due.markup == due.base * 50 / 100
    assert due.final == total([due.base, due.markup])
    assert total(due.shares) == (due.base if titles else 0)
    assert list(due.shares) == sorted(due.shares, reverse=True)  # as even as they can be
    assert not titles or due.shares[0] - due.shares[-1] <= Decimal("0.0000001")
    for amount in (due.base, due.markup, due.final, *due.shares):
        assert str(amount) == f"{amount:f}"
        assert len(str(amount)) <= len("0.0000001")


@given(titles, st.integers(0, 9), st.text(max_size=200))
def test_more_in_an_answer_never_costs_less(titles: list[str], place: int, title: str) -> None:
    due = price(matches(titles))
    longer = [one + title if each == place else one for each, one in enumerate(titles)]
    assert price(matches(longer)).final >= due.final
    if len(titles) < 10:
        assert price(matches([*titles, title])).final > due.final


def test_several_requests_are_taken_together_or_not_at_all(clock: VirtualClock) -> None:
    window = SlidingWindow(Rate(5, 60))
    assert window.wait("a", 3) == 0
    clock.now += 20
    assert window.wait("a", 2) == 0
    assert window.wait("a", 4) == 60  # the last two must be gone, too
    assert window.wait("a", 3) == 40
    clock.now += 40 + SOON
    assert window.wait("a", 3) == 0


def test_callers_that_stay_away_are_forgotten(clock: VirtualClock) -> None:
    window = SlidingWindow(Rate(2, 60))
    for caller in range(500):
        window.wait(caller)
        window.wait("always there")
        clock.now += 1
    assert len(window._taken) == 62  # a minute of them, and one more


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::"),
        ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ("fe80::1%eth0", "fe80::"),
        ("::1", "::"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_an_ipv6_address_counts_for_its_network(address: str, network: str) -> None:
    assert network_of(address) == network


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab")), max_size=80),
)
def test_no_window_takes_more_than_the_rate_and_none_less(
    requests: int, arrivals: list[tuple[int, str]]
) -> None:
    clock = VirtualClock()
    with virtual_limits(clock):
        window = SlidingWindow(Rate(requests, 60))
        taken: dict[str, list[float]] = {"a": [], "b": []}
        for pause, caller in arrivals:
            clock.now += pause
            recent = [at for at in taken[caller] if at >= clock.now - 60]
            wait = window.wait(caller)
            assert (wait == 0) == (len(recent) < requests)
            if wait == 0:
                taken[caller].append(clock.now)
            else:
                assert wait == max(SOON, recent[0] + 60 - clock.now)
