"""Every check of the books complains of what it is for, and of nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest

from pipeline.answers import SYSTEMS, System
from pipeline.paid.ledger.schema import INTERRUPTED
from pipeline.paid.policy import FAILURES_IN_A_ROW
from pipeline.rate import Rate
from pipeline.service.accounts import Entry
from pipeline.service.chaos.record import Served
from tests.money_trail import checks
from tests.money_trail.books import Attempt, Output, Service

USD = Decimal("0.000105")
"""The price of an answer."""


def attempt(number: int, sent_at: float, state: str = "answered", **but: Any) -> Attempt:
    """Return an attempt at a text of its own that took a second."""
    digest = bytes([number])
    usual = Attempt(
        number, 1, "cpv", digest, sent_at, sent_at + 1, state, None, USD, Decimal("0.0003")
    )
    return replace(usual, **({} if state == "answered" else {"cost_usd": None}) | but)


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
    return checks.record_agrees(
        Service([*requests], charges), [*attempts], kills, 2.0, Rate(2, 10.0)
    )


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
    assert len(checks.billed_as_recorded(Service(REQUESTS, [charge("cpv", USD)]))) == 1


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
    in_time = checks.follow(but(ATTEMPTS, 2, settled_at=10.3), stalled)
    too_late = checks.follow(but(ATTEMPTS, 2, settled_at=10.1), stalled)
    one = Rate(1, 10.0)
    assert (
        len(checks.the_limit_is_kept(in_time, one))
        == len(checks.the_limit_is_kept(too_late, one)) + 1
    )


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


def test_rows_that_do_not_add_up_are_found() -> None:
    rows = [{"cost_usd": "0.000105"}, {"cost_usd": "0"}]
    assert checks.totals_agree(ATTEMPTS, Output(rows, SUMMARY)) == []
    assert len(checks.totals_agree(ATTEMPTS, Output([], SUMMARY))) == 1


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
    said = checks.totals_agree(
        ATTEMPTS, Output([{"cost_usd": "0.000105"}], {**SUMMARY, "paid": paid})
    )
    assert len(said) == 1


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(AssertionError, match="one\ntwo"):
        checks.agree(["one"], [], ["two"])
    with pytest.raises(AssertionError, match="and 5 more"):
        checks.agree(["again"] * 35)


ENTRIES = [
    Entry(1, 1, 0.0, "opening", Decimal(5), Decimal(5), None, None, ""),
    Entry(2, 1, 1.0, "charge", -USD, Decimal("4.999895"), "cpv", 1, ""),
    Entry(3, 1, 2.0, "top-up", Decimal(1), Decimal("5.999895"), None, None, "more"),
    Entry(4, 1, 3.0, "charge", -USD, Decimal("5.99979"), "cpv", 1, ""),
]
OPENED_EMPTY = replace(ENTRIES[0], amount_usd=Decimal(0), balance_usd=Decimal(0))
LEFT = ENTRIES[-1].balance_usd
PAID = [attempt(1, 0.0), attempt(2, 1.0), attempt(3, 2.0, "free", error="INTERNAL_ERROR")]


def but_entry(place: int, **changes: Any) -> list[Entry]:
    """Return the entries with one of them changed."""
    return [replace(one, **changes) if at == place else one for at, one in enumerate(ENTRIES)]


def columns(cpv: str = "0.00021", unattributed: str = "0", figure: str = "0.00021") -> Output:
    """Return an output whose column of CPV says so, and the others nothing."""
    costs = {f"{system}_cost_usd": "0" for system in SYSTEMS}
    figures = {system: {"cost_usd": "0"} for system in SYSTEMS} | {"cpv": {"cost_usd": figure}}
    summary = {"systems": figures, "paid": {"unattributed_usd": unattributed}}
    return Output([costs | {"cpv_cost_usd": cpv}, costs], summary)


def test_a_statement_that_agrees_has_no_problems() -> None:
    assert checks.statement_adds_up(ENTRIES, LEFT) == []
    assert checks.statement_is_the_ledgers(ENTRIES, PAID) == []
    assert checks.columns_agree(PAID, columns()) == []
    assert checks.columns_agree(PAID, columns("0.000105", "0.000105", "0.000105")) == [], (
        "without a row"
    )


@pytest.mark.parametrize(
    ("entries", "left", "said"),
    [
        (but_entry(1, amount_usd=-2 * USD), LEFT, "are not"),
        (ENTRIES[1:], LEFT, "begins with"),
        (ENTRIES[:2] + ENTRIES[3:], LEFT, "are not"),
        (but_entry(0, amount_usd=Decimal(4)), LEFT, "begins with"),
        (ENTRIES, LEFT + Decimal("1e-24"), "is left"),
        ([OPENED_EMPTY, replace(ENTRIES[1], balance_usd=-USD)], -USD, "the balance is -0.000105"),
    ],
)
def test_a_statement_that_does_not_add_up_is_found(
    entries: list[Entry], left: Decimal, said: str
) -> None:
    (complaint,) = checks.statement_adds_up(entries, left)
    assert said in complaint


@pytest.mark.parametrize(
    "entries",
    [
        ENTRIES[:-1],
        but_entry(3, amount_usd=-USD + Decimal("1e-24")),
        but_entry(3, system="psc"),
    ],
)
def test_what_the_ledger_has_and_was_not_charged_is_found(entries: list[Entry]) -> None:
    assert "1 cpv calls for 0.000105 USD are in the ledger" in "".join(
        checks.statement_is_the_ledgers(entries, PAID)
    )


def test_a_charge_is_in_the_ledger_or_its_answer_was_lost_but_not_two_or_too_much() -> None:
    (complaint,) = checks.statement_is_the_ledgers(ENTRIES, PAID[1:])
    assert complaint == (
        "cpv charges of ['0.000105'] USD are not in the ledger, where 0 answers were lost"
    )
    lost = [*PAID[1:], attempt(4, 3.0, "unconfirmed", error="TIMEOUT")]
    assert checks.statement_is_the_ledgers(ENTRIES, lost) == []
    assert len(checks.statement_is_the_ledgers([*ENTRIES, ENTRIES[-1]], lost)) == 1
    dear = but_entry(3, amount_usd=Decimal("-0.00031"))
    assert len(checks.statement_is_the_ledgers(dear, lost)) == 1


@pytest.mark.parametrize(
    ("wrong", "complaints"),
    [
        (columns(cpv="0.000105"), 2),
        (columns(figure="0.0002"), 1),
        (columns(unattributed="0.000105"), 1),
        (columns(cpv="0.00022", figure="0.00022"), 2),
    ],
)
def test_columns_that_do_not_say_what_was_paid_are_found(wrong: Output, complaints: int) -> None:
    assert len(checks.columns_agree(PAID, wrong)) == complaints


TEXTS = [f"text {row}" for row in range(FAILURES_IN_A_ROW + 1)]
LEFT_OUT = TEXTS[-1]
FIRST_JOB, SECOND_JOB = 1, 2


def psc(text: str, state: str, error: str, job: int = SECOND_JOB) -> Attempt:
    """Return an attempt at a text in the system that is down."""
    digest = sha256(text.encode()).digest()
    return attempt(1, 0.0, state, error=error, digest=digest, system="psc", job=job)


OUTAGE = [psc(text, "free", "HTTP_503") for text in TEXTS[:-1]]
"""The second job's attempts; its run then left the system out."""

BEFORE = [psc(text, "unconfirmed", "TIMEOUT", FIRST_JOB) for text in TEXTS]


def about_cells(attempts: Sequence[Attempt], status: str, cost: str = "0") -> list[str]:
    """Return the about_cells about the second job's output, by what it has for the last call."""
    rows: list[dict[str, str]] = []
    for text in TEXTS:
        cells = {"status": "HTTP_503", "code": "", "title": "", "cost_usd": "0"}
        row = {f"{system}_{name}": cell for system in SYSTEMS for name, cell in cells.items()}
        rows.append({"description": text, **row})
    rows[-1] |= {"psc_status": status, "psc_cost_usd": cost}
    found = checks.cells_are_right(Output(rows, {}), attempts, SECOND_JOB)
    return [complaint for complaint in found if " psc: " in complaint]


@pytest.mark.parametrize(
    ("others", "status", "cost"),
    [
        ([], "HTTP_503", "0"),
        (BEFORE, "HTTP_503", "0"),
        ([psc(LEFT_OUT, "unconfirmed", INTERRUPTED, FIRST_JOB)], "HTTP_503", "0"),
        ([psc(LEFT_OUT, "free", "INTERNAL_ERROR", FIRST_JOB)], "HTTP_503", "0"),
        ([psc(LEFT_OUT, "free", "RATE_LIMIT_EXCEEDED")], "HTTP_503", "0"),
        ([*BEFORE, *BEFORE], "UNCONFIRMED", "0"),
        ([psc(LEFT_OUT, "unconfirmed", "TIMEOUT")], "TIMEOUT", ""),
        ([psc(LEFT_OUT, "unconfirmed", INTERRUPTED)], "UNCONFIRMED", ""),
        ([psc(LEFT_OUT, "refused", "VALIDATION_ERROR", FIRST_JOB)], "VALIDATION_ERROR", "0"),
    ],
)
def test_a_call_left_out_has_the_error_of_its_system_whatever_another_job_met(
    others: Sequence[Attempt], status: str, cost: str
) -> None:
    attempts = [*others, *OUTAGE]
    assert about_cells(attempts, status, cost) == []
    assert len(about_cells(attempts, "HTTP_404", cost)) == 1
    assert len(about_cells(attempts, status, "0.1")) == 1


def test_a_call_that_is_not_made_although_its_system_answers_is_found() -> None:
    answered = psc(TEXTS[0], "refused", "VALIDATION_ERROR")
    said = about_cells([*BEFORE, answered, *OUTAGE[1:]], "HTTP_503")
    assert any("expected ('not left out'" in complaint for complaint in said)
