"""What a response means: an answer, a refusal, a wait, or nothing that can be read."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import Match
from pipeline.money import DIGITS, plain, total
from pipeline.paid.client.outcomes import (
    MAX_BODY,
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
    WrongPrice,
)
from pipeline.paid.client.responses import read_response
from tests.paid.client.bodies import (
    COMPACT,
    DETAILED,
    JSON_VALUES,
    NO_LIST,
    SEEDS,
    failure,
    priced,
    put,
    with_items,
)

NOT_JSON = "the body is not JSON, or not all of it arrived"
NO_OBJECT = "the body is not a JSON object"


def stray(status: int) -> Stray:
    return Stray(f"HTTP {status}, not a response of the service")


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
     WrongPrice("it is in EUR, not in USD", Refused("X", "", None))),
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
    # Unknown error values are kept, and the status decides.
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
    ("a success at 404", 404, COMPACT, Charged(stray(404), Decimal("0.00007"))),
    ("bare 403", 403, b"<html>Forbidden", stray(403)),
    ("bare 404", 404, b'{"detail":"Not Found"}', stray(404)),
    ("a framework's 404", 404, b'{"status":404,"error":"Not Found"}', stray(404)),
    ("proxy wants a password", 407, b"",
     Stray("HTTP 407, from a proxy that wants a user and a password")),
    ("too long for a proxy", 413, b"",
     Stray("HTTP 413, the text is too long for the service or a proxy")),
    ("empty 204", 204, b"", stray(204)),
    ("accepted", 202, b'{"job":1}', stray(202)),
    ("redirect without target", 302, b"", stray(302)),
    # A success that cannot be read.
    ("changed by a proxy", 203, b"<html>", Unreadable(NOT_JSON, None)),
    ("part of an answer", 206, DETAILED[:-9], Unreadable(NOT_JSON, None)),
    ("truncated 201", 201, DETAILED[:-9], Unreadable(NOT_JSON, None)),
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
     Unreadable("the body is larger than 1,048,576 bytes", None)),
    ("an error larger than the bound", 404, b" " * MAX_BODY + failure("X"), stray(404)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [example[1:] for example in EXAMPLES],
    ids=[example[0] for example in EXAMPLES],
)
def test_a_response_means(status: int, body: bytes, outcome: Outcome) -> None:
    assert read_response(status, {}, body) == outcome


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


def test_matches_are_sorted_by_confidence_with_ties_as_received_and_each_code_once() -> None:
    scores = [("A", 0.1), ("B", 0.5), ("C", 0.9), ("D", 0.5), ("A", 0.7), ("C", 0.9)]
    items = [json.dumps({"code": code, "confidence": score}) for code, score in scores]
    outcome = read_response(200, {}, with_items(*items))
    assert isinstance(outcome, Answered)
    assert [match.code for match in outcome.matches] == ["C", "A", "B", "D"]


def test_a_byte_that_is_not_utf8_does_not_cost_the_answer() -> None:
    outcome = read_response(200, {}, COMPACT.replace(b"Seeds", b"S\xe9eds"))
    assert outcome == Answered((Match("03111000", "S\ufffdeds", 0.95),), Decimal("0.00007"))


NOON, LATER = "Sun, 01 Mar 2026 12:00:00 GMT", "Sun, 01 Mar 2026 12:00:30 GMT"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"RETRY-AFTER": "0"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "-1", "retry-after": "9"}, 9.0),
        ({"retry-after": "-7"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 5000}, 86400.0),
        ({"retry-after": "1e999"}, 86400.0),
        ({"retry-after": LATER, "date": NOON}, 30.0),
        ({"retry-after": LATER.replace("GMT", "-0000"), "date": NOON}, 30.0),
        ({"retry-after": LATER, "date": "Sun, 01 Mar 2026 12:00:10 GMT"}, 20.0),
        ({"retry-after": LATER, "date": "Sun, 01 Mar 2026 12:00:31 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 86400.0),
        ({"retry-after": "Mon, 99 Foo 99999 99:99:99 +9999"}, None),
    ],
)
def test_a_refusal_says_how_long_to_wait(headers: dict[str, str], wait: float | None) -> None:
    assert read_response(429, headers, b"") == RateLimited(wait)
    assert read_response(200, headers, failure("RATE_LIMIT_EXCEEDED")) == RateLimited(wait)


@pytest.mark.parametrize("date", [{}, {"date": "yesterday"}])
def test_without_the_services_clock_a_date_is_measured_from_now(date: dict[str, str]) -> None:
    before = datetime.now(UTC)
    hour = (before + timedelta(hours=1)).replace(microsecond=0)
    outcome = read_response(429, {"Retry-After": format_datetime(hour, usegmt=True), **date}, b"")
    after = datetime.now(UTC)
    assert isinstance(outcome, RateLimited) and outcome.wait is not None
    assert hour - after <= timedelta(seconds=outcome.wait) <= hour - before


def test_a_redirect_names_its_target_in_one_short_printable_line() -> None:
    outcome = read_response(308, {"Location": "https://elsewhere/\x1b[2J" + "x" * 999}, b"")
    assert isinstance(outcome, Stray)
    assert outcome.detail.startswith("HTTP 308, a redirect to https://elsewhere/ [2Jxxx")
    assert len(outcome.detail) < 400


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
    put(content, path, value)
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


@pytest.mark.parametrize("depth", [10, 500, 900, 990, 1000, 5000])
@pytest.mark.parametrize("field", ["data", "error", "message", "metadata", "title"])
def test_no_depth_of_nesting_makes_it_raise(depth: int, field: str) -> None:
    nested = b"[" * depth + b"]" * depth
    check_sound(read_response(200, {}, b'{"success":true,"%s":%s}' % (field.encode(), nested)))
