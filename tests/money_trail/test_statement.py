"""Every check of an account's statement complains of what it is for, and of nothing else."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from pipeline.answers import SYSTEMS
from pipeline.service.accounts import Entry
from tests.money_trail.attempts import USD, attempt
from tests.money_trail.books import Output
from tests.money_trail.statement import columns_agree, statement_adds_up, statement_is_the_ledgers

ENTRIES = [
    Entry(1, 1, 0.0, "opening", Decimal(5), Decimal(5), None, None, ""),
    Entry(2, 1, 1.0, "charge", -USD, Decimal("4.999895"), "cpv", 1, ""),
    Entry(3, 1, 2.0, "top-up", Decimal(1), Decimal("5.999895"), None, None, "more"),
    Entry(4, 1, 3.0, "charge", -USD, Decimal("5.99979"), "cpv", 1, ""),
]
LEFT = ENTRIES[-1].balance_usd
ATTEMPTS = [attempt(1, 0.0), attempt(2, 1.0), attempt(3, 2.0, "free", error="INTERNAL_ERROR")]


def but(place: int, **changes: Any) -> list[Entry]:
    """Return the entries with one of them changed."""
    return [replace(one, **changes) if at == place else one for at, one in enumerate(ENTRIES)]


def output(cpv: str = "0.00021", unattributed: str = "0", figure: str = "0.00021") -> Output:
    """Return an output whose column of CPV says so, and the others nothing."""
    costs = {f"{system}_cost_usd": "0" for system in SYSTEMS}
    figures = {system: {"cost_usd": "0"} for system in SYSTEMS} | {"cpv": {"cost_usd": figure}}
    summary = {"systems": figures, "paid": {"unattributed_usd": unattributed}}
    return Output([costs | {"cpv_cost_usd": cpv}, costs], summary)


def test_a_statement_that_agrees_has_no_problems() -> None:
    assert statement_adds_up(ENTRIES, LEFT) == []
    assert statement_is_the_ledgers(ENTRIES, ATTEMPTS) == []
    assert columns_agree(ATTEMPTS, output()) == []


@pytest.mark.parametrize(
    ("entries", "left", "said"),
    [
        (but(1, amount_usd=-2 * USD), LEFT, "are not"),
        (ENTRIES[1:], LEFT, "begins with"),
        (ENTRIES[:2] + ENTRIES[3:], LEFT, "are not"),
        (but(0, amount_usd=Decimal(4)), LEFT, "begins with"),
        (ENTRIES, LEFT + Decimal("1e-24"), "is left"),
        (
            [replace(one, balance_usd=one.balance_usd - 5, amount_usd=one.balance_usd - 5)
             if one.kind == "opening" else replace(one, balance_usd=one.balance_usd - 5)
             for one in ENTRIES],
            LEFT - 5,
            "entry 2: the balance is -0.000105",
        ),
    ],
)  # fmt: skip
def test_a_statement_that_does_not_add_up_is_found(
    entries: list[Entry], left: Decimal, said: str
) -> None:
    (complaint,) = statement_adds_up(entries, left)
    assert said in complaint


@pytest.mark.parametrize(
    "entries",
    [
        ENTRIES[:-1],
        but(3, amount_usd=-USD + Decimal("1e-24")),
        but(3, system="psc"),
    ],
)
def test_what_the_ledger_has_and_was_not_charged_is_found(entries: list[Entry]) -> None:
    assert "1 cpv calls for 0.000105 USD are in the ledger" in "".join(
        statement_is_the_ledgers(entries, ATTEMPTS)
    )


def test_a_charge_that_the_ledger_does_not_have_is_found() -> None:
    (complaint,) = statement_is_the_ledgers(ENTRIES, ATTEMPTS[1:])
    assert complaint == (
        "cpv charges of ['0.000105'] USD are not in the ledger, where 0 answers were lost"
    )


def test_a_charge_whose_answer_was_lost_is_explained_but_not_two_or_too_much() -> None:
    lost = [*ATTEMPTS[1:], attempt(4, 3.0, "unconfirmed", error="TIMEOUT")]
    assert statement_is_the_ledgers(ENTRIES, lost) == []
    assert len(statement_is_the_ledgers([*ENTRIES, ENTRIES[-1]], lost)) == 1
    dear = but(3, amount_usd=Decimal("-0.00031"))
    assert len(statement_is_the_ledgers(dear, lost)) == 1


@pytest.mark.parametrize(
    ("wrong", "complaints"),
    [
        (output(cpv="0.000105"), 2),
        (output(figure="0.0002"), 1),
        (output(unattributed="0.000105"), 1),
        (output(cpv="0.00022", figure="0.00022"), 2),
    ],
)
def test_columns_that_do_not_say_what_was_paid_are_found(wrong: Output, complaints: int) -> None:
    assert len(columns_agree(ATTEMPTS, wrong)) == complaints


def test_what_has_no_row_is_unattributed_together() -> None:
    without_row = output(cpv="0.000105", figure="0.000105", unattributed="0.000105")
    assert columns_agree(ATTEMPTS, without_row) == []
