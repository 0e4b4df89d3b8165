"""Answers in the usual form are read fast, and with the same result as any other answer."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import Match
from pipeline.money import ZERO
from pipeline.paid.client import responses
from pipeline.paid.client.outcomes import Answered, Outcome, WrongCurrency, WrongPrice
from pipeline.paid.client.prices import decoded
from pipeline.paid.client.responses import MAX_BODY, read_response, read_usual, usual_matches
from pipeline.service.http.messages import success
from pipeline.service.matching.pricing import price

FOUND = [Match("03111000", "Seeds é", 0.9), Match("45-21", "Roads", 0.25)]

ITEM = '{"code":"1","title":"a","confidence":0.5}'

UNUSUAL = (
    '{"success":true,"data":[{"code":"1","title":"a","confidence":-0}]}',
    '{"success":true,"data":[{"code":"1","title":"a","confidence":-0.0}]}',
    '{"success":true,"data":[{"code":"1","title":"a","confidence":1e-999}]}',
    '{"success":true,"data":[{"code":"1","title":"a","confidence":1e999}]}',
    '{"success":true,"data":[{"code":"1","title":"a","confidence":"0.5"}]}',
    '{"success":true,"data":[{"code":"1","title":"a","confidence":NaN}]}',
    '{"success":true,"data":[{"code":" 1 ","title":"a","confidence":0.5}]}',
    '{"success":true,"data":[{"code":"","title":"a","confidence":0.5}]}',
    '{"success":true,"data":[{"code":4512,"title":"a","confidence":0.5}]}',
    '{"success":true,"data":[{"code":"1","title":null,"confidence":0.5}]}',
    '{"success":true,"data":[{"code":"1","title":"\\ud800","confidence":0.5}]}',
    '{"success":true,"data":[{"code":"1","title":"\x01","confidence":0.5}]}',
    f'{{"success":true,"data":[{ITEM},{ITEM.replace(".5", ".7")}]}}',
    f'{{"success":true,"data":[{ITEM},3]}}',
    '{"success":true,"data":null}',
    '{"success":true}',
    f'{{"success":null,"data":[{ITEM}]}}',
    f'{{"success":1,"data":[{ITEM}]}}',
    f'{{"success":false,"error":"VALIDATION_ERROR","data":[{ITEM}]}}',
    f'{{"success":true,"success":false,"error":"X","data":[{ITEM}]}}',
    f'{{"data":[{ITEM}],"error":"VALIDATION_ERROR"}}',
    "[]",
    "",
)

AMOUNTS = ("0.00011", "0.10", "-0", "1E-5", "1e400", "1e99999999999999999999", "0.12345678901234")
OTHERS = ("1_000", '"0.5"', '" 1 "', '"1_000"', '"NaN"', "null", "true", "[]", "{}", '"EUR"')
VALUES = st.sampled_from([*AMOUNTS, *OTHERS, '"\\ud800"'])


def slowly(status: int, body: bytes) -> Outcome:
    """Read a response without the fast way."""
    with patch.object(responses, "read_usual", lambda *_: None):
        return read_response(status, {}, body)


def test_what_the_service_sends_is_read_fast() -> None:
    body = success("cpv", "seeds", FOUND, price(FOUND), "detailed")
    usual = read_usual(200, body)
    assert usual is not None and usual.matches == usual_matches(200, body) == tuple(FOUND)
    assert read_response(200, {}, body) == slowly(200, body)


@pytest.mark.parametrize("text", UNUSUAL)
def test_an_unusual_answer_is_left_to_the_careful_reader(text: str) -> None:
    body = text.encode("utf-8", "surrogatepass")
    assert read_usual(200, body) is None
    assert usual_matches(200, body) is None
    assert repr(read_response(200, {}, body)) == repr(slowly(200, body))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-le"])
def test_another_encoding_is_left_to_the_careful_reader(encoding: str) -> None:
    text = f'{{"success":true,"data":[{ITEM}]}}'
    assert read_usual(200, text.encode(encoding)) is None


def test_an_error_status_and_a_huge_body_are_left_to_the_careful_reader() -> None:
    body = f'{{"success":true,"data":[{ITEM}]}}'.encode()
    assert read_usual(500, body) is None
    assert read_usual(200, body) is not None
    assert read_usual(200, body + b" " * MAX_BODY) is None


@given(
    st.dictionaries(st.sampled_from(["finalCost", "apiCost", "markupAmount", "currency"]), VALUES),
    st.dictionaries(st.sampled_from(["apiCost", "currency"]), VALUES),
)
def test_a_price_is_read_from_the_same_digits(one: dict[str, str], other: dict[str, str]) -> None:
    detailed, compact = (
        ",".join(f'"{name}":{value}' for name, value in some.items()) for some in (one, other)
    )
    body = (
        f'{{"success":true,"data":[{ITEM}],'
        f'"metadata":{{"costBreakdown":{{{detailed}}},"cost":{{{compact}}}}}}}'
    ).encode()
    assert repr(read_response(200, {}, body)) == repr(slowly(200, body))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "code": st.sampled_from(["1", "2", "45-21", " 3", ""]) | JSON,
                "title": st.text(max_size=4) | JSON,
                "confidence": st.floats() | st.integers() | JSON,
            }
        ),
        max_size=4,
    ),
    st.sampled_from([True, True, None, False]) | JSON,
    JSON,
    st.booleans(),
)
def test_every_answer_means_the_same_to_both_readers(
    items: list[dict[str, Any]], success: Any, metadata: Any, escaped: bool
) -> None:
    content = {"success": success, "data": items, "metadata": metadata}
    body = json.dumps(content, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    careful = slowly(200, body)
    assert repr(read_response(200, {}, body)) == repr(careful)
    if (usual := usual_matches(200, body)) is not None:  # a price may be wrong all the same
        outcome = careful.ended if isinstance(careful, WrongCurrency | WrongPrice) else careful
        assert isinstance(outcome, Answered) and outcome.matches == usual


def test_a_metadata_nested_too_deeply_is_left_to_the_careful_reader() -> None:
    deep = "[" * 900 + "]" * 900
    body = f'{{"success":true,"data":[{ITEM}],"metadata":{{"x":{deep}}}}}'.encode()
    assert repr(read_response(200, {}, body)) == repr(slowly(200, body))


def test_a_free_answer_costs_zero() -> None:
    body = f'{{"success":true,"data":[{ITEM}],"metadata":{{"cost":{{"apiCost":-0}}}}}}'.encode()
    outcome = read_response(200, {}, body)
    assert repr(outcome) == repr(slowly(200, body))
    assert isinstance(outcome, Answered) and outcome.cost_usd == ZERO


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
    for outcome in (read_response(200, {}, body.encode()), slowly(200, body.encode())):
        assert isinstance(outcome, WrongPrice)
        assert outcome.reason == f"{name} is stated twice"
        assert isinstance(outcome.ended, Answered)


def test_other_names_may_be_stated_twice() -> None:
    body = f'{{"success":true,"note":1,"note":2,"data":[{ITEM}],"metadata":{STATED}}}'.encode()
    for outcome in (read_response(200, {}, body), slowly(200, body)):
        assert isinstance(outcome, Answered) and outcome.cost_usd == Decimal("0.0001")


def test_a_large_object_with_a_name_twice_is_read_in_a_moment() -> None:
    names = ",".join(f'"n{number}":0' for number in range(50_000))
    assert len(decoded(f'{{{names},"n0":1}}')) == 50_000
