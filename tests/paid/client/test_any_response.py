"""Whatever a server sends, reading it raises nothing."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.money import DIGITS, plain, total
from pipeline.paid.client.outcomes import (
    Answered,
    Outcome,
    Refused,
    Unreadable,
    WrongPrice,
)
from pipeline.paid.client.responses import read_response
from tests.paid.client.bodies import COMPACT, DETAILED, failure, priced


def check_sound(outcome: Outcome) -> None:
    """Assert what everything after this module relies upon."""
    match outcome:
        case Answered(matches, cost):
            ranked = [found.confidence for found in matches]
            assert ranked == sorted(ranked, reverse=True)
            assert all(math.isfinite(confidence) for confidence in ranked)
            assert all(found.code for found in matches)
            (json.dumps([found.title + found.code for found in matches]).encode())
        case WrongPrice(said, ended):
            assert said.isprintable() and len(said) < 200
            cost = ended.cost_usd
            assert cost is None
        case Refused(_, _, cost) | Unreadable(_, cost):
            pass
        case _:
            cost = None
    if cost is not None:
        assert cost >= 0
        assert plain(total([cost])) == plain(cost)
        assert len(plain(cost)) <= DIGITS + 2


STATUSES = st.integers(-1, 1000) | st.sampled_from([200, 201, 301, 400, 401, 403, 429, 500, 503])
HEADERS = st.dictionaries(st.sampled_from(["Retry-After", "date", "Location"]), st.text())


@given(STATUSES, HEADERS, st.binary())
def test_no_bytes_make_it_raise(status: int, headers: dict[str, str], body: bytes) -> None:
    check_sound(read_response(status, headers, body))


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = (
    ("success",), ("error",), ("message",), ("data",), ("metadata",),
    ("data", 0), ("data", 0, "code"), ("data", 0, "title"), ("data", 0, "confidence"),
    ("metadata", "cost"), ("metadata", "cost", "apiCost"),
    ("metadata", "costBreakdown"), ("metadata", "costBreakdown", "finalCost"),
    ("metadata", "costBreakdown", "markupAmount"), ("metadata", "costBreakdown", "currency"),
)  # fmt: skip


@given(STATUSES, st.sampled_from(FIELDS), JSON_VALUES, st.sampled_from([DETAILED, COMPACT]))
def test_no_value_in_any_field_makes_it_raise(
    status: int, path: tuple[str | int, ...], value: object, valid: bytes
) -> None:
    content = json.loads(valid)
    content["metadata"].setdefault("cost", {})
    content["metadata"].setdefault("costBreakdown", {})
    *parents, last = path
    inner = content
    for step in parents:
        inner = inner[step]
    inner[last] = value
    check_sound(read_response(status, {}, json.dumps(content).encode()))


USUAL = st.sampled_from(["0.00007", "0.000035", "0.000105"])
EXTREME = st.sampled_from([30, 2_000_060, 10**18, 10**19]).map("1e-{0} 7e{0} -1e{0} 0e-{0}".format)
DETAIL = '"costBreakdown":{{"finalCost":{},"apiCost":{},"markupAmount":{}}}'


@given(st.permutations(range(3)), USUAL, USUAL, EXTREME.map(str.split).flatmap(st.sampled_from))
def test_no_price_however_fine_or_large_makes_it_raise(
    order: list[int], one: str, other: str, extreme: str
) -> None:
    detailed = DETAIL.format(*([one, other, extreme][place] for place in order))
    for form in (detailed, f'{detailed},"cost":{{"apiCost":{one}}}'):
        check_sound(read_response(200, {}, priced(f"{{{form}}}")))


@given(
    st.sampled_from([DETAILED, COMPACT, failure("VALIDATION_ERROR")]),
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 400), st.binary(max_size=9)), max_size=4
    ),
    st.sampled_from([200, 400, 500]),
)
def test_no_mutation_of_a_valid_body_makes_it_raise(
    valid: bytes, cuts: list[tuple[int, int, bytes]], status: int
) -> None:
    for start, length, put in cuts:
        valid = valid[:start] + put + valid[start + length :]
    check_sound(read_response(status, {}, valid))


@pytest.mark.parametrize("depth", [10, 500, 900, 990, 1000, 5000])
@pytest.mark.parametrize("field", ["data", "error", "message", "metadata", "title"])
def test_no_depth_of_nesting_makes_it_raise(depth: int, field: str) -> None:
    nested = b"[" * depth + b"]" * depth
    check_sound(read_response(200, {}, b'{"success":true,"%s":%s}' % (field.encode(), nested)))
