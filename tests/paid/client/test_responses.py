from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import Match
from pipeline.money import DIGITS, plain, total
from pipeline.paid.client.outcomes import (
    Answered,
    Charged,
    InsufficientBalance,
    Outcome,
    Passing,
    RateLimited,
    Refused,
    Stray,
    Unauthorized,
    Unconfirmed,
    Unreadable,
    WrongCurrency,
    WrongPrice,
)
from pipeline.paid.client.responses import MAX_BODY, read_response
from pipeline.paid.ledger.totals import amount

DETAILED = (
    b'{"success":true,"message":"API call successful","data":['
    b'{"code":"03111000","title":"Seeds","confidence":0.95,"codeType":"cpv","cost":9}],'
    b'"metadata":{"costBreakdown":{"apiCost":0.00010,"markupPercentage":5,'
    b'"markupAmount":0.000005,"finalCost":0.00010499999999999999,"currency":"USD"}}}'
)
COMPACT = (
    b'{"success":true,"message":"API call successful","data":['
    b'{"code":"03111000","title":"Seeds","confidence":0.95,"codeType":"cpv","cost":9}],'
    b'"metadata":{"cost":{"apiCost":0.00007}}}'
)
SEEDS = (Match("03111000", "Seeds", 0.95),)
GENERIC = "Check the base URL, and any proxy on the way to it."
NO_LIST = "The body has no list of matches."
NOT_JSON = "The body is not JSON, or not all of it arrived."
NO_OBJECT = "The body is not a JSON object."


def failure(error: str, status_text: str = "No.") -> bytes:
    return json.dumps({"success": False, "error": error, "message": status_text}).encode()


def priced(metadata: str) -> bytes:
    return b'{"success":true,"data":[],"metadata":%s}' % metadata.encode()


def with_items(*items: str) -> bytes:
    return b'{"success":true,"data":[%s]}' % ",".join(items).encode()


EXAMPLES: list[tuple[str, int, bytes, Outcome]] = [
    # The two forms of a success, and what deployments may make of them.
    ("detailed form", 200, DETAILED, Answered(SEEDS, Decimal("0.00010499999999999999"))),
    ("compact form", 200, COMPACT, Answered(SEEDS, Decimal("0.00007"))),
    ("no items", 200, priced('{"cost":{"apiCost":0.1}}'), Answered((), Decimal("0.1"))),
    ("null for no items", 200, b'{"success":true,"data":null}', Answered((), None)),
    ("no success field", 200, b'{"data":[]}', Answered((), None)),
    ("another 2xx with an answer", 201, COMPACT, Answered(SEEDS, Decimal("0.00007"))),
    ("byte order mark", 200, b"\xef\xbb\xbf" + COMPACT, Answered(SEEDS, Decimal("0.00007"))),
    ("UTF-16", 200, COMPACT.decode().encode("utf-16"), Answered(SEEDS, Decimal("0.00007"))),
    ("error beside success", 200, b'{"success":true,"error":"UNAUTHORIZED","data":[]}',
     Answered((), None)),
    # Every error value, at its own status and at another.
    ("validation", 400, failure("VALIDATION_ERROR"), Refused("VALIDATION_ERROR", "No.", None)),
    ("validation at 200", 200, failure("VALIDATION_ERROR"),
     Refused("VALIDATION_ERROR", "No.", None)),
    ("validation at 500", 500, failure("VALIDATION_ERROR"),
     Refused("VALIDATION_ERROR", "No.", None)),
    ("billed refusal", 422,
     b'{"success":false,"error":"VALIDATION_ERROR","metadata":{"cost":{"apiCost":0.1}}}',
     Refused("VALIDATION_ERROR", "", Decimal("0.1"))),
    ("refusal billed in euro", 422,
     b'{"success":false,"error":"X","metadata":{"cost":{"apiCost":0.1,"currency":"EUR"}}}',
     Refused("X", "", None)),
    ("unauthorized", 401, failure("UNAUTHORIZED"), Unauthorized("No.")),
    ("unauthorized at 200", 200, failure("UNAUTHORIZED"), Unauthorized("No.")),
    ("unauthorized without success", 400, b'{"error":"UNAUTHORIZED"}', Unauthorized("")),
    ("balance", 402, failure("INSUFFICIENT_BALANCE"), InsufficientBalance("No.")),
    ("balance at 403", 403, failure("INSUFFICIENT_BALANCE"), InsufficientBalance("No.")),
    ("rate", 429, failure("RATE_LIMIT_EXCEEDED"), RateLimited(None)),
    ("rate at 503", 503, failure("RATE_LIMIT_EXCEEDED"), RateLimited(None)),
    ("internal", 500, failure("INTERNAL_ERROR"), Passing("INTERNAL_ERROR")),
    ("internal at 502", 502, failure("INTERNAL_ERROR"), Passing("INTERNAL_ERROR")),
    ("internal at 200", 200, failure("INTERNAL_ERROR"), Passing("INTERNAL_ERROR")),
    # Error values that nobody knows are kept, and the status decides.
    ("unknown at 400", 400, failure("TOO_LONG"), Refused("TOO_LONG", "No.", None)),
    ("unknown at 200", 200, failure("TOO_LONG"), Refused("TOO_LONG", "No.", None)),
    ("unknown at 404", 404, failure("NOT_FOUND"), Refused("NOT_FOUND", "No.", None)),
    ("unknown at 401", 401, failure("NO_KEY"), Unauthorized("No.")),
    ("unknown at 403", 403, failure("NO_KEY"), Unauthorized("No.")),
    ("unknown at 402", 402, failure("PAY"), InsufficientBalance("No.")),
    ("unknown at 429", 429, failure("SLOW"), RateLimited(None)),
    ("unknown at 500", 500, failure("DATABASE"), Passing("DATABASE")),
    ("unknown at 503", 503, failure("DATABASE"), Passing("DATABASE")),
    ("unknown at 502", 502, failure("UPSTREAM"), Unconfirmed("HTTP_502")),
    ("envelope without error", 400, b'{"success":false}', Refused("UNKNOWN_ERROR", "", None)),
    ("error is an object", 200, b'{"success":false,"error":{"code":1}}',
     Refused("UNKNOWN_ERROR", "", None)),
    ("error with an escape sequence", 400, failure("A\x1b[2J\n\ud800B"),
     Refused("A [2J  B", "No.", None)),
    # Without the envelope the status alone speaks.
    ("bare 401", 401, b"", Unauthorized("")),
    ("bare 402", 402, b"<html>", InsufficientBalance("")),
    ("bare 429", 429, b"slow down", RateLimited(None)),
    ("bare 408", 408, b"", Passing("HTTP_408")),
    ("bare 425", 425, b"", Passing("HTTP_425")),
    ("bare 503", 503, b"<html>", Passing("HTTP_503")),
    ("bare 500", 500, b"Internal Server Error", Unconfirmed("HTTP_500")),
    ("bare 502", 502, b"<html>", Unconfirmed("HTTP_502")),
    ("bare 504", 504, b"", Unconfirmed("HTTP_504")),
    ("bare 520", 520, b"", Unconfirmed("HTTP_520")),
    ("a success at 500", 500, COMPACT, Charged(Unconfirmed("HTTP_500"), Decimal("0.00007"))),
    ("a success at 404", 404, COMPACT, Charged(Stray(404, GENERIC), Decimal("0.00007"))),
    ("bare 403", 403, b"<html>Forbidden", Stray(403, GENERIC)),
    ("bare 404", 404, b'{"detail":"Not Found"}', Stray(404, GENERIC)),
    ("a framework's 404", 404, b'{"status":404,"error":"Not Found"}', Stray(404, GENERIC)),
    ("proxy wants a password", 407, b"", Stray(407, GENERIC)),
    ("empty 204", 204, b"", Stray(204, GENERIC)),
    ("accepted", 202, b'{"job":1}', Stray(202, GENERIC)),
    ("redirect without target", 302, b"", Stray(302, GENERIC)),
    # A 200 that nobody can read.
    ("empty", 200, b"", Unreadable(NOT_JSON, None)),
    ("truncated", 200, DETAILED[:-9], Unreadable(NOT_JSON, None)),
    ("HTML", 200, b"<!doctype html><title>Log in</title>", Unreadable(NOT_JSON, None)),
    ("two objects", 200, COMPACT * 2, Unreadable(NOT_JSON, None)),
    ("a list", 200, b"[]", Unreadable(NO_OBJECT, None)),
    ("NaN", 200, b"NaN", Unreadable(NO_OBJECT, None)),
    ("a number", 200, b"1", Unreadable(NO_OBJECT, None)),
    ("null", 200, b"null", Unreadable(NO_OBJECT, None)),
    ("deeply nested", 200, b'{"data":' + b"[" * 100_000, Unreadable(NOT_JSON, None)),
    ("an empty object", 200, b"{}", Unreadable(NO_LIST, None)),
    ("success is a text", 200, b'{"success":"true","data":[]}', Unreadable(NO_LIST, None)),
    ("data is an object", 200, b'{"success":true,"data":{"code":"1"}}', Unreadable(NO_LIST, None)),
    ("data is a number", 200, b'{"success":true,"data":0}', Unreadable(NO_LIST, None)),
    ("items without codes", 200, with_items('"03111000"', '{"title":"x"}', "[]", "null"),
     Unreadable(NO_LIST, None)),
    ("unreadable but priced", 200,
     b'{"success":true,"metadata":{"costBreakdown":{"finalCost":0.2}}}',
     Unreadable(NO_LIST, Decimal("0.2"))),
    ("larger than the bound", 200, COMPACT + b" " * MAX_BODY,
     Unreadable("The body is larger than 1048576 bytes.", None)),
    ("an error larger than the bound", 404, b" " * MAX_BODY + failure("X"), Stray(404, GENERIC)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [example[1:] for example in EXAMPLES],
    ids=[example[0] for example in EXAMPLES],
)
def test_a_response_means(status: int, body: bytes, outcome: Outcome) -> None:
    assert read_response(status, {}, body) == outcome


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
    ('"cost":{"apiCost":Infinity}', "apiCost is NaN"),
    ('"cost":{"apiCost":1e15}', "apiCost is 1E+15"),
    ('"cost":{"apiCost":1e30}', "apiCost is 1E+30"),
    ('"cost":{"apiCost":100000000000000}', "apiCost is 100000000000000"),
    ('"cost":{"apiCost":1e99999999999999999999}', "apiCost is NaN"),
    ('"cost":{"apiCost":%s}' % ("1" * 5000), f"apiCost is {'1' * 40}..."),
    ('"cost":{"apiCost":1e-25}', "the price is 1E-25"),
    ('"cost":{"apiCost":true}', "apiCost is true"),
    ('"cost":{"apiCost":{"usd":1}}', "apiCost is an object"),
    ('"cost":{"apiCost":[0.1]}', "apiCost is a list"),
    ('"cost":{"apiCost":""}', 'apiCost is ""'),
    ('"cost":{"apiCost":"$0.1"}', 'apiCost is "$0.1"'),
    ('"cost":{"apiCost":"0,1"}', 'apiCost is "0,1"'),
    ('"cost":{"apiCost":"1_000"}', 'apiCost is "1_000"'),
    ('"cost":{"apiCost":"NaN"}', 'apiCost is "NaN"'),
    ('"cost":{"apiCost":"\u0663"}', 'apiCost is "\u0663"'),
    ('"cost":{"apiCost":"\\u001b[2J"}', 'apiCost is "[2J"'),
    (BOTH % ("1e15", "0.00007", "0.00003"), "finalCost is 1E+15"),
    (BOTH % ("0.0001", "1e15", "0.00003"), "apiCost is 1E+15"),
    (BOTH % ("0.0001", "0.00007", "-1"), "markupAmount is -1"),
    (BOTH % ("NaN", "0.1", "0.2"), "finalCost is NaN"),
    (BOTH % ("0.0002", "0.00007", "0.00003"),
     "finalCost is 0.0002 beside apiCost 0.00007 and markupAmount 0.00003"),
    (BOTH % ("0.00009", "0.00007", "0.000003"),
     "finalCost is 0.00009 beside apiCost 0.00007 and markupAmount 0.000003"),
    (BOTH % ("0.009", "0.00007", "0"),
     "finalCost is 0.009 beside apiCost 0.00007 and markupAmount 0"),
    (BOTH % ("0.009", "0.00007", "0.0"),
     "finalCost is 0.009 beside apiCost 0.00007 and markupAmount 0"),
    (BOTH % ("0.00009", "0.00007", "1e-9999999"),
     "apiCost is 0.00007 and markupAmount 1E-9999999"),
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
def test_a_stated_price_that_cannot_be_used_is_told_with_what_was_paid_for(
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
def test_another_currency_keeps_the_price_and_what_was_paid_for(form: str, currency: str) -> None:
    body = DETAILED.split(b'"metadata"')[0] + b'"metadata":{%s}}' % form.encode()
    assert read_response(200, {}, body) == WrongCurrency(currency, Decimal("0.2"), SEEDS)


@pytest.mark.parametrize("currency", ['"USD"', '"usd"', '" USD"', '""', "null"])
def test_us_dollars_are_us_dollars(currency: str) -> None:
    body = priced(f'{{"costBreakdown":{{"finalCost":0.2,"currency":{currency}}}}}')
    assert read_response(200, {}, body) == Answered((), Decimal("0.2"))


@pytest.mark.parametrize(
    ("item", "match"),
    [
        ('{"code":" 007 ","title":"T","confidence":1}', Match("007", "T", 1.0)),
        ('{"code":45000000,"title":"T","confidence":"0.5"}', Match("45000000", "T", 0.5)),
        ('{"code":45000000.0,"title":null}', Match("45000000", "", 0.0)),
        ('{"code":"A","title":7,"confidence":"high"}', Match("A", "", 0.0)),
        ('{"code":"A","confidence":NaN}', Match("A", "", 0.0)),
        ('{"code":"A","confidence":"NaN"}', Match("A", "", 0.0)),
        ('{"code":"A","confidence":1e400}', Match("A", "", 0.0)),
        ('{"code":"A","confidence":true}', Match("A", "", 0.0)),
        ('{"code":"A","confidence":-2.5}', Match("A", "", -2.5)),
        ('{"code":"A","confidence":95}', Match("A", "", 95.0)),
        ('{"code":"A","title":"\\ud800\\u00e9"}', Match("A", "?é", 0.0)),
        ('{"code":"A","title":"two\nlines"}', Match("A", "two\nlines", 0.0)),
    ],
)
def test_an_item_is_read_as(item: str, match: Match) -> None:
    assert read_response(200, {}, with_items(item)) == Answered((match,), None)


@pytest.mark.parametrize(
    "code", ["null", '""', '" "', "true", "-1", "4.5", "NaN", "1e400", "0e400", "[]", "{}"]
)
def test_an_item_without_a_usable_code_is_dropped(code: str) -> None:
    body = with_items(f'{{"code":{code},"confidence":1}}', '{"code":"A","confidence":0.5}')
    assert read_response(200, {}, body) == Answered((Match("A", "", 0.5),), None)


def test_matches_stand_by_confidence_with_ties_as_received_and_each_code_once() -> None:
    scores = [("A", 0.1), ("B", 0.5), ("C", 0.9), ("D", 0.5), ("A", 0.7), ("C", 0.9)]
    items = [json.dumps({"code": code, "confidence": score}) for code, score in scores]
    outcome = read_response(200, {}, with_items(*items))
    assert isinstance(outcome, Answered)
    assert [match.code for match in outcome.matches] == ["C", "A", "B", "D"]


def test_a_byte_that_is_no_utf8_does_not_cost_the_answer() -> None:
    outcome = read_response(200, {}, COMPACT.replace(b"Seeds", b"S\xe9eds"))
    assert outcome == Answered((Match("03111000", "S\ufffdeds", 0.95),), Decimal("0.00007"))


NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = "Sun, 01 Mar 2026 12:00:30 GMT"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"RETRY-AFTER": "0"}, 0.0),
        ({"retry-after": "-7"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 5000}, 86400.0),
        ({"retry-after": "1e999"}, 86400.0),
        ({"retry-after": LATER}, 30.0),
        ({"retry-after": LATER.replace("GMT", "-0000")}, 30.0),
        ({"retry-after": LATER, "date": "Sun, 01 Mar 2026 12:00:10 GMT"}, 20.0),
        ({"retry-after": LATER, "date": "yesterday"}, 30.0),
        ({"retry-after": LATER, "date": "Sun, 01 Mar 2026 12:00:31 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 86400.0),
        ({"retry-after": "Mon, 99 Foo 99999 99:99:99 +9999"}, None),
    ],
)
def test_a_refusal_says_how_long_to_wait(headers: dict[str, str], wait: float | None) -> None:
    assert read_response(429, headers, b"", NOON) == RateLimited(wait)
    assert read_response(200, headers, failure("RATE_LIMIT_EXCEEDED"), NOON) == RateLimited(wait)


def test_without_a_clock_a_date_is_measured_from_now() -> None:
    outcome = read_response(429, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, b"")
    assert outcome == RateLimited(86400.0)


def test_a_redirect_names_its_target_in_one_short_printable_line() -> None:
    outcome = read_response(308, {"Location": "https://elsewhere/\x1b[2J" + "x" * 999}, b"")
    assert isinstance(outcome, Stray)
    assert outcome.hint.startswith("It redirects to https://elsewhere/ [2Jxxx")
    assert outcome.hint.endswith("check the base URL.")
    assert len(outcome.hint) < 400


def check_sound(outcome: Outcome) -> None:
    """Assert what everything after this module relies upon."""
    match outcome:
        case Answered(matches, cost) | WrongCurrency(_, cost, matches):
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
