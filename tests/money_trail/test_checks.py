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


def test_books_that_agree_are_not_reported() -> None:
    assert complaints() == []
    agree(complaints())


def test_a_charge_that_the_record_lacks_is_found() -> None:
    service = Service(REQUESTS, [charge("cpv", USD)])
    assert len(billed_as_recorded(service)) == 1


def test_a_request_that_was_not_written_down_before_is_found() -> None:
    said = complaints(without(ATTEMPTS, 1))
    assert "request 1 stands in no ledger" in said
    assert "request 1 stands in no ledger" in complaints(but(ATTEMPTS, 1, sent_at=0.2))


def test_a_call_bought_twice_is_found() -> None:
    again = attempt(7, 100.0, digest=bytes([1]))
    said = complaints([*ATTEMPTS, again], [*REQUESTS, request(7, 100.1, digest=bytes([1]))])
    assert said == ["attempt 7 was sent after 1 had ended its call"]


def test_a_call_sent_again_after_a_loss_is_in_order() -> None:
    again = attempt(7, 100.0, digest=bytes([2]))
    assert complaints([*ATTEMPTS, again], [*REQUESTS, request(7, 100.1, digest=bytes([2]))]) == []


def test_an_attempt_without_an_end_is_found() -> None:
    open_still = but(ATTEMPTS, 4, state="sent", error=None, settled_at=None)
    assert complaints(open_still) == ["attempt 4 is still under way"]


@pytest.mark.parametrize("noted", [None, USD + Decimal("1e-24"), Decimal(0)])
def test_a_price_that_is_not_the_stated_one_is_found(noted: Decimal | None) -> None:
    assert any("0.000105 stated" in said for said in complaints(but(ATTEMPTS, 1, cost_usd=noted)))


def test_a_price_that_was_never_stated_is_found() -> None:
    assert any("None stated" in said for said in complaints(but(ATTEMPTS, 3, cost_usd=USD)))


def test_a_bill_taken_for_free_is_found() -> None:
    said = complaints(ATTEMPTS, but(REQUESTS, 5, billed_usd=USD))
    assert any("billed, but taken for free" in one for one in said)
    assert any("0.00063 USD billed" in one for one in said)


def test_an_answer_to_what_never_arrived_is_found() -> None:
    assert "attempt 1 is answered, but never reached the service" in complaints(
        requests=without(REQUESTS, 1)
    )


def test_a_price_that_an_answer_misstates_is_not_a_problem() -> None:
    million = Decimal(1_000_000)
    assert (
        complaints(but(ATTEMPTS, 1, cost_usd=million), but(REQUESTS, 1, stated_usd=million)) == []
    )


@pytest.mark.parametrize(
    ("number", "attempts", "requests", "kills"),
    [
        (2, ATTEMPTS, but(REQUESTS, 2, fault=None), KILLS),
        (2, ATTEMPTS, but(REQUESTS, 2, fault="duplicate"), KILLS),
        (4, ATTEMPTS, REQUESTS, [39.9]),
        (4, ATTEMPTS, REQUESTS, [41.5]),
        (6, ATTEMPTS, but(REQUESTS, 6, answered_at=81.9), KILLS),
        (2, ATTEMPTS, without(REQUESTS, 2), KILLS),
    ],
)
def test_a_loss_for_no_reason_is_found(
    number: int, attempts: Any, requests: Any, kills: Any
) -> None:
    said = complaints(attempts, requests, kills)
    assert any(one.startswith(f"attempt {number} (") and "no reason" in one for one in said)


def test_a_crowded_window_is_found_at_the_door_and_at_the_limit() -> None:
    third = attempt(7, 9.0)
    crowded = complaints([*ATTEMPTS, third], [*REQUESTS, request(7, 9.1, worked_at=11.0)])
    assert len(crowded) == 1
    assert "3 requests arrived in" in crowded[0]
    worked_late = complaints([*ATTEMPTS, third], [*REQUESTS, request(7, 10.2, worked_at=10.05)])
    assert len(worked_late) == 1
    assert "3 requests were counted in" in worked_late[0]


def test_a_full_window_apart_is_not_crowded() -> None:
    third = attempt(7, 10.0)
    assert complaints([*ATTEMPTS, third], [*REQUESTS, request(7, 10.1, worked_at=10.2)]) == []


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
