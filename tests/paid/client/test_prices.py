"""What was paid is read exactly from what a response states, or is unknown."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.money import plain
from pipeline.paid.client.outcomes import (
    Answered,
    Refused,
    Unreadable,
    WrongPrice,
)
from pipeline.paid.client.prices import REPEATED, parse_json_exact
from pipeline.paid.client.responses import read_response
from pipeline.paid.ledger.totals import amount
from tests.paid.client.bodies import DETAILED, NO_LIST, SEEDS, priced


@pytest.mark.parametrize(
    ("metadata", "cost"),
    [
        ('{"costBreakdown":{"finalCost":0.3,"apiCost":0.1,"markupAmount":0.2},"cost":{}}', "0.3"),
        ('{"costBreakdown":{"apiCost":0.1,"markupAmount":0.2},"cost":{"apiCost":0.1}}', "0.3"),
        ('{"costBreakdown":{"apiCost":0.1,"markupAmount":0.2},"cost":{"apiCost":0.3}}', "0.3"),
        ('{"costBreakdown":{"finalCost":0.3},"cost":{"apiCost":0.3}}', "0.3"),
        ('{"costBreakdown":{"finalCost":0.3},"cost":{"apiCost":0.2}}', "0.3"),
        ('{"costBreakdown":{"finalCost":null,"apiCost":0.1,"markupAmount":0.2}}', "0.3"),
        ('{"costBreakdown":{"apiCost":0.1},"cost":{"apiCost":0.4}}', "0.4"),
        ('{"costBreakdown":{"apiCost":0.1,"markupPercentage":5}}', None),
        ('{"costBreakdown":[],"cost":{"apiCost":0.4}}', "0.4"),
        ('{"cost":0.4}', None),
        ('{"cost":{"apiCost":null}}', None),
        ('{"cost":{"apiCost":7}}', "7"),
        ('{"cost":{"apiCost":0}}', "0"),
        ('{"cost":{"apiCost":-0.0}}', "0"),
        ('{"cost":{"apiCost":0e-999999}}', "0"),
        ('{"cost":{"apiCost":7e-05}}', "0.00007"),
        ('{"cost":{"apiCost":7.0000000000000007e-05}}', "0.000070000000000000007"),
        ('{"cost":{"apiCost":"0.00010"}}', "0.0001"),
        ('{"cost":{"apiCost":" 1.05E-4 "}}', "0.000105"),
        ('{"cost":{"apiCost":1e-24}}', "0.000000000000000000000001"),
        ('{"cost":{"apiCost":99999999999999}}', "99999999999999"),
        ('{"cost":{"apiCost":0.1%s}}' % ("0" * 40), "0.1"),
        ('{"costBreakdown":{"finalCost":0.00010499999999999999,"apiCost":0.00007,'
         '"markupAmount":0.000034999999999999997}}', "0.00010499999999999999"),
        ('{"costBreakdown":{"finalCost":0.000106,"apiCost":0.0000705,"markupAmount":0.00003525}}',
         "0.000106"),
        ('{"costBreakdown":{"finalCost":0.0001,"apiCost":0.0000999999999999999999999999,'
         '"markupAmount":1e-30}}', "0.0001"),
        ('{"costBreakdown":{"finalCost":0.00008,"apiCost":0.00007,"markupAmount":0.000007}}',
         "0.00008"),
        ('{"costBreakdown":{"finalCost":0.0001,"apiCost":0.00007,"markupAmount":0.000014}}',
         "0.0001"),
        ('{"costBreakdown":{"finalCost":0.00007,"apiCost":0.00007,"markupAmount":0.00001}}',
         "0.00007"),
        ("null", None),
        ("[]", None),
    ],
)  # fmt: skip
def test_what_was_paid_is_read_from_either_form_exactly_or_is_unknown(
    metadata: str, cost: str | None
) -> None:
    outcome = read_response(200, {}, priced(metadata))
    assert isinstance(outcome, Answered)
    assert (None if outcome.cost_usd is None else plain(outcome.cost_usd)) == cost


BOTH = '"costBreakdown":{"finalCost":%s,"apiCost":%s,"markupAmount":%s}'
WRONG_PRICES = [
    ('"cost":{"apiCost":-0.1}', "apiCost is -0.1"),
    ('"cost":{"apiCost":NaN}', "apiCost is NaN"),
    ('"cost":{"apiCost":1e15}', "apiCost is 1E+15"),
    ('"cost":{"apiCost":100000000000000}', "apiCost is 100000000000000"),
    ('"cost":{"apiCost":1e99999999999999999999}', "apiCost is NaN"),
    ('"cost":{"apiCost":%s}' % ("1" * 5000), f"apiCost is {'1' * 40}..."),
    ('"cost":{"apiCost":1e-25}', "the price is 1E-25"),
    ('"cost":{"apiCost":true}', "apiCost is true"),
    ('"cost":{"apiCost":{"usd":1}}', "apiCost is an object"),
    ('"cost":{"apiCost":[0.1]}', "apiCost is a list"),
    ('"cost":{"apiCost":""}', 'apiCost is ""'),
    ('"cost":{"apiCost":"0,1"}', 'apiCost is "0,1"'),
    ('"cost":{"apiCost":"1_000"}', 'apiCost is "1_000"'),
    ('"cost":{"apiCost":"NaN"}', 'apiCost is "NaN"'),
    ('"cost":{"apiCost":"\u0663"}', 'apiCost is "\u0663"'),
    ('"cost":{"apiCost":"\\u001b[2J"}', 'apiCost is "[2J"'),
    (BOTH % ("1e15", "0.00007", "0.00003"), "finalCost is 1E+15"),
    (BOTH % ("0.0001", "1e15", "0.00003"), "apiCost is 1E+15"),
    (BOTH % ("0.0001", "0.00007", "-1"), "markupAmount is -1"),
    (BOTH % ("0.0002", "0.00007", "0.00003"),
     "finalCost is 0.0002 beside apiCost 0.00007 and markupAmount 0.00003"),
    (BOTH % ("0.00009", "0.00007", "0.000003"),
     "finalCost is 0.00009 beside apiCost 0.00007 and markupAmount 0.000003"),
    (BOTH % ("0.009", "0.00007", "0"),
     "finalCost is 0.009 beside apiCost 0.00007 and markupAmount 0"),
    (BOTH % ("0.00009", "0.00007", "1e-9999999"),
     "apiCost is 0.00007 and markupAmount 1E-9999999"),
    (BOTH % ("1e-9999999", "0.00007", "0.00003"),
     "finalCost is 1E-9999999 beside apiCost 0.00007 and markupAmount 0.00003"),
    (BOTH % ("0", "0.00007", "0.00003"),
     "finalCost is 0 beside apiCost 0.00007 and markupAmount 0.00003"),
    (BOTH % ("0.00005", "0.00007", "null"),
     "finalCost is 0.00005 beside apiCost 0.00007 and markupAmount missing"),
    (BOTH % ("null", "0.00007", "0.00003") + ',"cost":{"apiCost":9}',
     "cost.apiCost is 9, but costBreakdown comes to 0.00010"),
    (BOTH % ("null", "0.1", "null") + ',"cost":{"apiCost":0.05}',
     "cost.apiCost is 0.05, but costBreakdown comes to 0.1"),
    (BOTH % ("0.1", "null", "null") + ',"cost":{"apiCost":0.2}',
     "cost.apiCost is 0.2, but costBreakdown comes to 0.1"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "said"), WRONG_PRICES)
def test_a_stated_price_that_cannot_be_used_is_reported_with_what_was_paid_for(
    form: str, said: str
) -> None:
    body = priced(f"{{{form}}}")
    assert read_response(200, {}, body) == WrongPrice(said, Answered((), None))
    unreadable = body.replace(b'"data":[]', b'"data":7')
    assert read_response(200, {}, unreadable) == WrongPrice(said, Unreadable(NO_LIST, None))
    refused = body.replace(b'"success":true', b'"success":false,"error":"VALIDATION_ERROR"')
    assert read_response(400, {}, refused) == WrongPrice(
        said, Refused("VALIDATION_ERROR", "", None)
    )


@pytest.mark.parametrize(
    ("form", "currency"),
    [
        ('"costBreakdown":{"finalCost":0.2,"currency":"EUR"}', "EUR"),
        ('"cost":{"apiCost":0.2,"currency":" eur "}', "eur"),
        ('"cost":{"apiCost":0.2,"currency":978}', "unknown"),
    ],
)
def test_another_currency_is_reported_with_what_was_paid_for(form: str, currency: str) -> None:
    body = DETAILED.split(b'"metadata"')[0] + b'"metadata":{%s}}' % form.encode()
    assert read_response(200, {}, body) == WrongPrice(
        f"it is in {currency}, not in USD", Answered(SEEDS, None)
    )


@pytest.mark.parametrize("currency", ['"USD"', '"usd"', '" USD"', '""', "null"])
def test_us_dollars_are_us_dollars(currency: str) -> None:
    body = priced(f'{{"costBreakdown":{{"finalCost":0.2,"currency":{currency}}}}}')
    assert read_response(200, {}, body) == Answered((), Decimal("0.2"))


@given(st.decimals(0, 100, places=20) | st.floats(0, 100).map(lambda cost: Decimal(repr(cost))))
def test_a_price_is_the_digits_that_were_sent_or_wrong(cost: Decimal) -> None:
    outcome = read_response(200, {}, priced(f'{{"cost":{{"apiCost":{cost}}}}}'))
    if isinstance(outcome, WrongPrice):
        assert cost < Decimal("1e-7")
    else:
        assert outcome == Answered((), cost)


@given(st.integers(0, 10**20), st.integers(0, 45), st.integers(0, 45))
def test_every_price_is_an_amount_that_the_ledger_accepts(
    digits: int, zeros: int, decimals: int
) -> None:
    stated = Decimal((0, tuple(map(int, f"{digits}{'0' * zeros}")), -decimals))
    outcome = read_response(200, {}, priced(f'{{"cost":{{"apiCost":{stated:f}}}}}'))
    if isinstance(outcome, Answered):
        assert outcome.cost_usd is not None
        assert amount(str(outcome.cost_usd)) == stated


ITEM = '{"code":"1","title":"a","confidence":0.5}'


STATED = '{"costBreakdown":{"finalCost":0.0001,"currency":"USD"},"cost":{"apiCost":0.0001}}'
AGAIN = {
    "finalCost": ('"finalCost":0.0001', '"finalCost":0.0001,"finalCost":0.0001'),
    "apiCost": ('"apiCost":0.0001', '"apiCost":0.0009,"apiCost":0.0001'),
    "currency": ('"currency":"USD"', '"currency":"EUR","currency":"USD"'),
    "cost": ('"cost":', '"cost":{"apiCost":0.2},"cost":'),
    "costBreakdown": ('"costBreakdown":', '"costBreakdown":null,"costBreakdown":'),
    "metadata": (STATED, f'{STATED},"metadata":{STATED}'),
}


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("name", [*AGAIN])
def test_what_states_a_price_twice_states_none(name: str, escaped: bool) -> None:
    """An escape spells a name in another way."""
    again = STATED.replace(*AGAIN[name]) if name != "metadata" else AGAIN[name][1]
    body = f'{{"success":true,"data":[{ITEM}],"metadata":{again}}}'
    if escaped:
        before, _, after = body.rpartition(f'"{name}"')
        body = rf'{before}"\u{ord(name[0]):04x}{name[1:]}"{after}'
        assert json.loads(body)["metadata"]
    outcome = read_response(200, {}, body.encode())
    assert isinstance(outcome, WrongPrice)
    assert outcome.reason == f"{name} is stated twice"
    assert isinstance(outcome.ended, Answered)


def test_other_names_may_be_stated_twice() -> None:
    body = f'{{"success":true,"note":1,"note":2,"data":[{ITEM}],"metadata":{STATED}}}'.encode()
    outcome = read_response(200, {}, body)
    assert isinstance(outcome, Answered) and outcome.cost_usd == Decimal("0.0001")


def test_a_large_object_with_a_name_twice_is_read_in_a_moment() -> None:
    names = ",".join(f'"n{number}":0' for number in range(50_000))
    assert parse_json_exact(f'{{{names},"n0":1}}')[REPEATED] == {"n0"}
