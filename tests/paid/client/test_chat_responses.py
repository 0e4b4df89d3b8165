"""What the responses of language models mean: every row of the table of failures."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pipeline.answers import Match
from pipeline.money import ZERO
from pipeline.paid.client.outcomes import (
    MAX_BODY,
    Answered,
    InsufficientBalance,
    Outcome,
    Passing,
    RateLimited,
    Received,
    Refused,
    Stray,
    Unauthorized,
    Unconfirmed,
    Unreadable,
    WrongPrice,
)
from pipeline.paid.client.responses import MAGIC, read_record, read_response
from pipeline.paid.policy import judge
from tests.paid.client.bodies import (
    ASKED,
    CANDIDATES,
    COST,
    FREE,
    JSON_VALUES,
    PATCHES,
    USAGE,
    completion,
    error,
    patched,
    put,
    record,
)

FIRST, SECOND, THIRD = (match.code for match in CANDIDATES)
CODES = {match.code for match in CANDIDATES}
CUT = "the answer was cut off; allow more tokens, with the request field max_tokens"


def read(response: object, status: int = 200, **headers: str) -> Outcome:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_response(status, named, record(response))


def codes(outcome: Outcome) -> list[str]:
    assert isinstance(outcome, Answered)
    return [match.code for match in outcome.matches]


@pytest.mark.parametrize(
    "content",
    [
        '{"choice": "B"}',
        '{"choice":"b"}',
        ' {"choice": "B."}\n',
        '```json\n{"choice": "B"}\n```',
        '<think>Perhaps {"choice": "A"}? No.</think>\n{"choice": "B"}',
        'First {"choice": "A"}, but rather {"choice": "B"}',
        '{"choice": "45313100"}',
        "B",
        "**B**",
        "The code is 45313100, for installation.",
        [{"type": "thinking", "thinking": []}, {"type": "text", "text": '{"choice": "B"}'}],
    ],
)
def test_the_chosen_code_comes_first_and_the_others_follow_in_the_engines_order(
    content: Any,
) -> None:
    outcome = read(completion(content))
    assert codes(outcome) == [SECOND, FIRST, THIRD]
    assert isinstance(outcome, Answered) and outcome.cost_usd == COST
    assert [match.confidence for match in outcome.matches] == [0.9, 0.0756, 0.0244]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_an_answer_that_a_server_took_for_reasoning_is_read_strictly(field: str) -> None:
    for empty in (None, "", " "):
        answer = {field: ' {"choice": "C"} '}
        assert codes(read(completion(empty, message=answer)))[0] == THIRD
    thought = {field: 'I think {"choice": "C"} is right'}
    assert isinstance(read(completion(None, message=thought)), Unreadable)


def test_a_code_that_the_engine_is_sure_of_too_is_surer() -> None:
    sure = replace(ASKED, candidates=(Match(FIRST, "Lifts", 0.4), *CANDIDATES[1:]))
    body = record(completion('{"choice": "A"}'), sure)
    outcome = read_response(200, {}, body)
    assert isinstance(outcome, Answered)
    assert [match.confidence for match in outcome.matches] == [0.97, 0.02, 0.01]


def test_none_is_no_code_and_paid() -> None:
    for content in ('{"choice": "none"}', '{"choice": "None"}', "none", '"none".'):
        assert read(completion(content)) == Answered((), COST)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"choice": "D"}', "the model named none of the candidates: '{\"choice\": \"D\"}'"),
        ('{"choice": "03000000"}', "the model named none of the candidates"),
        ('{"choice": "AB"}', "the model named none of the candidates"),
        ('{"choice": null}', "the model named none of the candidates"),
        ('{"choice": ["A"]}', "the model named none of the candidates"),
        ("50750000 or 45313100", "the model named none of the candidates"),
        ("145313100", "the model named none of the candidates"),
        ("A lift is to be maintained.", "the model named none of the candidates"),
        ("<think>It is {\"choice\": \"A\"}", "the model named none of the candidates"),
        ("", "the model named none of the candidates"),
        (None, "the model named none of the candidates"),
        (7, "the model named none of the candidates"),
    ],
)  # fmt: skip
def test_anything_but_one_candidate_is_unreadable_and_paid(content: Any, reason: str) -> None:
    outcome = read(completion(content))
    assert isinstance(outcome, Unreadable)
    assert outcome.reason.startswith(reason)
    assert outcome.cost_usd == COST


def test_an_answer_that_was_cut_off_says_what_to_do() -> None:
    for content in ("", '{"choice', "<think>Let us see", "So"):
        cut = completion(content, finish_reason="length")
        assert read(cut) == Unreadable(CUT, COST)
    whole = completion('{"choice": "B"} ', finish_reason="length")
    assert codes(read(whole))[0] == SECOND


def test_a_model_that_refuses_has_been_paid() -> None:
    refusals = [
        completion(None, message={"refusal": "I cannot help with that."}),
        completion("", finish_reason="content_filter"),
    ]
    for refusal in refusals:
        outcome = read(refusal)
        assert isinstance(outcome, Refused)
        assert (outcome.error, outcome.cost_usd) == ("MODEL_REFUSED", COST)
        silent = read(refusal | {"usage": None})
        assert isinstance(silent, Unreadable) and silent.cost_usd is None


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (USAGE, COST),
        ({"prompt_tokens": 900, "completion_tokens": 6}, COST),
        ({"prompt_tokens": 900, "total_tokens": 906}, COST),
        # Reasoning that is left out of the completion, but not out of the total.
        (USAGE | {"total_tokens": 1906}, Decimal("0.0007386")),
        (USAGE | {"total_tokens": 900}, COST),
        (USAGE | {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, ZERO),
        (USAGE | {"prompt_tokens_details": {"cached_tokens": 800}}, COST),
        ({"prompt_tokens": 900}, None),
        ({"completion_tokens": 6, "total_tokens": 906}, None),
        ({}, None),
        (None, None),
        ([], None),
    ],
)
def test_the_price_is_that_of_the_tokens(usage: object, cost: Decimal | None) -> None:
    outcome = read(completion(usage=usage))
    assert isinstance(outcome, Answered)
    assert outcome.cost_usd == cost


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prompt_tokens", -1),
        ("prompt_tokens", 1.5),
        ("prompt_tokens", True),
        ("prompt_tokens", "900"),
        ("completion_tokens", 10_000_001),
        ("total_tokens", float("nan")),
        ("total_tokens", float("inf")),
    ],
)
def test_a_wrong_number_of_tokens_is_a_price_that_cannot_be_used(name: str, value: object) -> None:
    outcome = read(completion(usage=USAGE | {name: value}))
    assert isinstance(outcome, WrongPrice)
    assert outcome.reason.startswith(f"{name} is ")
    assert isinstance(outcome.ended, Answered) and outcome.ended.cost_usd is None
    text = json.dumps(completion()).replace('"usage":', '"usage": {}, "usage":')
    assert isinstance(read(text.encode()), WrongPrice), "stated twice"
    at_home = replace(ASKED, token_prices=FREE)
    free = read_response(200, {}, record(completion(usage={name: value}), at_home))
    assert isinstance(free, Answered) and free.cost_usd == 0


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize(
    "code",
    ["content_filter", "context_length_exceeded", "invalid_prompt", "string_above_max_length"],
)
def test_a_text_that_is_refused_is_refused_for_good_and_free(status: int, code: str) -> None:
    assert read(error("No", code=code), status) == Refused(code.upper(), "No", None)
    end = judge(Received(status, {}, record(error("No", code=code)))).end
    assert (end.state, end.cost_usd) == ("refused", ZERO)


WITHOUT_MESSAGE: list[object] = [{}, {"choices": []}, {"choices": [7]}, {"choices": {"0": {}}}]
CHANGED = Passing("REQUEST_CHANGED", None, "HTTP 400, Unsupported parameter")
HINT = "(are the name of the model and the request fields right?)"
WHERE = "(does the address end in /v1, and is the name of the model right?)"


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (401, error("Wrong key."), Unauthorized("Wrong key")),
        (401, b"", Unauthorized("")),
        (403, error("Not for you"), Unauthorized("Not for you")),
        (403, b"<html>", Stray("HTTP 403, not a response of the service")),
        (402, error("Pay"), InsufficientBalance("Pay")),
        (429, error("Quota", code="insufficient_quota"), InsufficientBalance("Quota")),
        (429, error("Quota", type="insufficient_quota"), InsufficientBalance("Quota")),
        (429, error("INSUFFICIENT QUOTA"), RateLimited(None)),
        (429, b"slow down", RateLimited(None)),
        *((status, error(), Passing(f"HTTP_{status}", None, f"HTTP {status}, No"))
          for status in (408, 409, 425, 503, 529)),
        (500, error(), Passing("INTERNAL_ERROR", None, "HTTP 500, No")),
        (500, b"Internal Server Error", Unconfirmed("HTTP_500")),
        (502, error(), Unconfirmed("HTTP_502")),
        (504, b"", Unconfirmed("HTTP_504")),
        (404, error("no such model 'x'"), Stray(f"HTTP 404, no such model 'x' {WHERE}")),
        (404, {"error": "model not found"}, Stray(f"HTTP 404, model not found {WHERE}")),
        (404, {"detail": "Not Found"}, Stray(f"HTTP 404, Not Found {WHERE}")),
        (404, b"page not found", Stray(f"HTTP 404, without a message {WHERE}")),
        (422, {}, Stray(f"HTTP 422, without a message {HINT}")),
        (400, error("'response_format' is unknown"),
         Stray(f"HTTP 400, 'response_format' is unknown {HINT}")),
        (405, {"object": "error", "message": "POST"}, Stray(f"HTTP 405, POST {HINT}")),
        (413, b"", Stray("HTTP 413, the text is too long for the service or a proxy")),
        (200, error("Down", code=502), Unconfirmed("HTTP_502")),
        (200, error("Pay", code=402), InsufficientBalance("Pay")),
        (200, error("Slow", code=429), RateLimited(None)),
        (200, error("Odd"), Unconfirmed("HTTP_200")),
        *((200, error("Odd", code=code), Unconfirmed("HTTP_200"))
          for code in (7, 429.5, 600, 1e300, float("nan"), float("inf"))),
        (202, b"", Stray("HTTP 202, not a response of the service")),
        (204, b"", Stray("HTTP 204, not a response of the service")),
        (200, b"<html>", Unreadable("the body is not JSON, or not all of it arrived", None)),
        (200, b"[]", Unreadable("the body is not a JSON object", None)),
        *((200, body, Unreadable("the response has no message", None))
          for body in WITHOUT_MESSAGE),
        (200, {"choices": [{}], "usage": USAGE}, Unreadable("the response has no message", COST)),
        (403, error("Flagged", code=403, metadata={"reasons": ["violence"]}),
         Refused("MODERATED", "Flagged", None)),
        (200, b" " * (MAX_BODY + 1), Unreadable("the body is larger than 1,048,576 bytes", None)),
    ],
)  # fmt: skip
def test_a_response_means(status: int, body: object, outcome: Outcome) -> None:
    assert read(body, status) == outcome


def test_an_error_that_came_as_a_success_is_not_taken_for_free() -> None:
    filtered = error("No", code=400) | {"usage": USAGE}
    assert isinstance(read(filtered), Stray)
    flagged = error("No", code=403, metadata={"reasons": []})
    assert read(flagged) == Unreadable("No", None)
    assert read(flagged | {"usage": USAGE}) == Unreadable("No", COST)


def test_a_request_that_was_changed_is_sent_again() -> None:
    refusal = record(error("Unsupported parameter"), replace(ASKED, changed=True))
    assert read_response(400, {}, refusal) == CHANGED
    assert isinstance(read(error("Unsupported parameter"), 400), Stray)


def test_a_text_without_candidates_costs_nothing() -> None:
    empty = replace(ASKED, candidates=())
    assert read_response(204, {}, record(b"", empty)) == Answered((), ZERO)
    assert isinstance(read_response(204, {}, record(b"")), Stray)


@given(st.binary(max_size=200))
def test_a_record_is_read_as_it_was_written_and_a_damaged_one_raises_nothing(after: bytes) -> None:
    assert not isinstance(read_response(200, {}, MAGIC + after), Answered)
    for raw in (b"", b"\n\n", b"chat/1 {}\n", bytes(range(256)), b"x" * MAX_BODY):
        found = read_record(record(raw))
        assert found is not None
        assert found == (ASKED, raw)
        assert found[0].candidates == CANDIDATES


PIECES = st.sampled_from(
    ['{"choice": "', '"}', "A", "b", "none", FIRST, SECOND, "03000000", "\n", "<think>", "</think>",
     "```", "{", "}", '"choice"', ":", "Z", "45000000", "null", "\\u0041", "[", "]"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join) | st.text(), st.sampled_from(["stop", "length"]))
def test_no_code_but_a_candidate_is_ever_returned(text: str, reason: str) -> None:
    check_candidates(read(completion(text, finish_reason=reason)))
    check_candidates(read(completion(None, message={"reasoning": text})))


VALID = json.dumps(completion()).encode()


@given(
    st.integers(-1, 1000) | st.sampled_from([200, 400, 429]),
    st.binary() | PATCHES.map(lambda patches: patched(VALID, patches)),
)
def test_no_bytes_make_it_raise_or_name_another_code(status: int, body: bytes) -> None:
    check_candidates(read(body, status))
    judge(Received(status, {}, record(body)))


FIELDS = (
    ("choices",), ("usage",), ("error",), ("choices", 0), ("choices", 0, "message"),
    ("choices", 0, "finish_reason"), ("choices", 0, "message", "content"),
    ("choices", 0, "message", "refusal"), ("choices", 0, "message", "reasoning"),
    ("usage", "prompt_tokens"), ("usage", "completion_tokens"), ("usage", "total_tokens"),
)  # fmt: skip


@given(st.sampled_from([200, 400, 403, 429, 500]), st.sampled_from(FIELDS), JSON_VALUES)
def test_no_value_in_any_field_makes_it_raise(
    status: int, path: tuple[str | int, ...], value: object
) -> None:
    content = completion()
    put(content, path, value)
    check_candidates(read(content, status))


def check_candidates(outcome: Outcome) -> None:
    if isinstance(outcome, WrongPrice):
        outcome = outcome.ended
    if isinstance(outcome, Answered):
        found = [match.code for match in outcome.matches]
        assert {*found} in (set(), CODES)
        assert len(found) in (0, len(CODES))
        assert all(isinstance(match, Match) for match in outcome.matches)
