"""Every check of the three-way comparison complains of what it is for, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from pipeline.answers import System
from pipeline.paid.ledger.calls import INTERRUPTED
from pipeline.rate import Rate
from pipeline.service.accounts import Entry
from pipeline.service.chaos.record import Served
from tests.money_trail.attempts import USD, attempt
from tests.money_trail.books import Attempt, Output, Service
from tests.money_trail.checks import (
    agree,
    billed_as_recorded,
    every_loss_is_explained,
    every_request_was_written_down,
    money_agrees,
    nothing_is_bought_twice,
    nothing_stays_under_way,
    prices_are_as_stated,
    the_limit_is_kept,
    totals_agree,
)
from tests.money_trail.trail import follow

RATE = Rate(2, 10.0)
TIMEOUT = 2.0


def request(number: int, arrived_at: float, **but: Any) -> Served:
    """Return the request that the attempt of this number was."""
    at = arrived_at
    usual = Served(number, at, "cpv", bytes([number]), at, USD, at + 0.1, None, 200, USD)
    return replace(usual, **but)


ATTEMPTS = [
    attempt(1, 0.0),
    attempt(2, 0.5, "unconfirmed", error="CONNECTION_ERROR"),
    attempt(3, 20.0, "unreadable", error="MALFORMED_RESPONSE"),
    attempt(4, 40.0, "unconfirmed", error=INTERRUPTED),
    attempt(5, 60.0, "free", error="HTTP_503"),
    attempt(6, 80.0, "unconfirmed", error="TIMEOUT"),
]
REQUESTS = [
    request(1, 0.1),
    request(2, 0.6, fault="drop-after", status=None, stated_usd=None),
    request(3, 20.1, fault="garbage list", stated_usd=None),
    request(4, 40.1),
    request(5, 60.1, fault="error", status=503, billed_usd=None, stated_usd=None, worked_at=None),
    request(6, 80.1, answered_at=82.5),
]
KILLS = [40.5]


def complaints(
    attempts: Sequence[Attempt] = ATTEMPTS,
    requests: Sequence[Served] = REQUESTS,
    kills: Sequence[float] = KILLS,
) -> list[str]:
    """Return what all checks but that of the output complain of."""
    charges = [charge(one.system, one.billed_usd) for one in requests if one.billed_usd is not None]
    trail, service = follow(attempts, requests), Service(list(requests), charges)
    return [
        *billed_as_recorded(service),
        *every_request_was_written_down(trail),
        *nothing_is_bought_twice(attempts),
        *nothing_stays_under_way(attempts),
        *prices_are_as_stated(trail),
        *every_loss_is_explained(trail, kills, TIMEOUT),
        *the_limit_is_kept(trail, RATE),
        *money_agrees(trail, service),
    ]


def charge(system: System, usd: Decimal) -> Entry:
    return Entry(1, 1, 0.1, "charge", -usd, Decimal(5), system, None, "")


def but(all_of: Sequence[Any], number: int, **changes: Any) -> list[Any]:
    """Return attempts or requests with one of them changed."""
    return [replace(one, **changes) if one.number == number else one for one in all_of]


def without(all_of: Sequence[Any], number: int) -> list[Any]:
    return [one for one in all_of if one.number != number]


def again(digest: int) -> tuple[list[Attempt], list[Served]]:
    """Return books in which a call is bought again."""
    attempts = [*ATTEMPTS, attempt(7, 100.0, digest=bytes([digest]))]
    return attempts, [*REQUESTS, request(7, 100.1, digest=bytes([digest]))]


MILLION = Decimal(1_000_000)


@pytest.mark.parametrize(
    ("attempts", "requests"),
    [
        (ATTEMPTS, REQUESTS),
        again(2),  # after a loss
        (but(ATTEMPTS, 1, cost_usd=MILLION), but(REQUESTS, 1, stated_usd=MILLION)),
        ([*ATTEMPTS, attempt(7, 10.0)], [*REQUESTS, request(7, 10.1, worked_at=10.2)]),
    ],
    ids=["as they are", "sent again after a loss", "a price misstated", "a full window apart"],
)
def test_books_that_agree_are_not_reported(attempts: list[Attempt], requests: list[Served]) -> None:
    assert complaints(attempts, requests) == []
    agree(complaints(attempts, requests))


@pytest.mark.parametrize(
    ("attempts", "requests", "said"),
    [
        (without(ATTEMPTS, 1), REQUESTS, "request 1 stands in no ledger"),
        (but(ATTEMPTS, 1, sent_at=0.2), REQUESTS, "request 1 stands in no ledger"),
        (*again(1), "attempt 7 was sent after 1 had ended its call"),
        (but(ATTEMPTS, 4, settled_at=None), REQUESTS, "attempt 4 is still under way"),
        (but(ATTEMPTS, 1, cost_usd=None), REQUESTS, "0.000105 stated"),
        (but(ATTEMPTS, 1, cost_usd=Decimal(0)), REQUESTS, "0.000105 stated"),
        (but(ATTEMPTS, 1, cost_usd=USD + Decimal("1e-24")), REQUESTS, "0.000105 stated"),
        (but(ATTEMPTS, 3, cost_usd=USD), REQUESTS, "None stated"),
        (ATTEMPTS, but(REQUESTS, 5, billed_usd=USD), "billed, but taken for free"),
        (ATTEMPTS, but(REQUESTS, 5, billed_usd=USD), "0.00063 USD billed"),
        (ATTEMPTS, without(REQUESTS, 1), "attempt 1 is answered, but never reached the service"),
    ],
)
def test_books_that_disagree_are_found(
    attempts: list[Attempt], requests: list[Served], said: str
) -> None:
    assert any(said in one for one in complaints(attempts, requests))


def test_a_charge_that_the_record_lacks_is_found() -> None:
    assert len(billed_as_recorded(Service(REQUESTS, [charge("cpv", USD)]))) == 1


@pytest.mark.parametrize(
    ("number", "requests", "kills"),
    [
        (2, but(REQUESTS, 2, fault=None), KILLS),
        (2, but(REQUESTS, 2, fault="garbage html"), KILLS),
        (4, REQUESTS, [39.9]),
        (4, REQUESTS, [41.5]),
        (6, but(REQUESTS, 6, answered_at=81.9), KILLS),
        (2, without(REQUESTS, 2), KILLS),
    ],
)
def test_a_loss_for_no_reason_is_found(number: int, requests: Any, kills: Any) -> None:
    said = complaints(ATTEMPTS, requests, kills)
    assert any(one.startswith(f"attempt {number} (") and "no reason" in one for one in said)


@pytest.mark.parametrize(
    ("sent_at", "arrived_at", "worked_at", "said"),
    [(9.0, 9.1, 11.0, "3 requests arrived in"), (9.0, 10.2, 10.05, "3 requests were counted in")],
)
def test_a_crowded_window_is_found_at_the_door_and_at_the_limit(
    sent_at: float, arrived_at: float, worked_at: float, said: str
) -> None:
    third = request(7, arrived_at, worked_at=worked_at)
    (crowded,) = complaints([*ATTEMPTS, attempt(7, sent_at)], [*REQUESTS, third])
    assert said in crowded


def test_what_is_handled_later_than_promised_does_not_count() -> None:
    stalled = but(REQUESTS, 2, worked_at=20.2, fault="stall")  # beside the third, at 20.1
    in_time = follow(but(ATTEMPTS, 2, settled_at=10.3), stalled)
    too_late = follow(but(ATTEMPTS, 2, settled_at=10.1), stalled)
    one = Rate(1, 10.0)
    assert len(the_limit_is_kept(in_time, one)) == len(the_limit_is_kept(too_late, one)) + 1


SUMMARY = {
    "cost_usd": "0.000105",
    "paid": {
        "attempts": 6,
        "confirmed_usd": "0.000105",
        "unattributed_usd": "0",
        "unconfirmed": 3,
        "unknown": 1,
        "at_risk_usd": "0.0012",
    },
}


def test_an_output_that_agrees_with_the_ledger_has_no_complaints() -> None:
    rows = [{"cost_usd": "0.000105"}, {"cost_usd": "0"}]
    assert totals_agree(ATTEMPTS, Output(rows, SUMMARY)) == []


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ("confirmed_usd", "0.0001050000000000000000000001"),
        ("unattributed_usd", "0.000001"),
        ("at_risk_usd", "0"),
        ("attempts", 5),
        ("unconfirmed", 2),
        ("unknown", 0),
    ],
)
def test_a_figure_that_does_not_agree_is_found(figure: str, told: object) -> None:
    paid: dict[str, Any] = {**SUMMARY["paid"], figure: told}  # type: ignore[dict-item]
    said = totals_agree(ATTEMPTS, Output([{"cost_usd": "0.000105"}], {**SUMMARY, "paid": paid}))
    assert len(said) == 1


def test_rows_that_do_not_add_up_are_found() -> None:
    assert len(totals_agree(ATTEMPTS, Output([], SUMMARY))) == 1


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(AssertionError, match="one\ntwo"):
        agree(["one"], [], ["two"])
    with pytest.raises(AssertionError, match="and 5 more"):
        agree(["again"] * 35)
