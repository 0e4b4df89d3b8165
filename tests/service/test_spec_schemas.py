"""What the service sends and takes is what its description says, no more and no less."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from pipeline.answers import SYSTEMS, Match, System
from pipeline.codes.shipped import shipped
from pipeline.service import spec
from pipeline.service.errors import ValidationError
from pipeline.service.http.messages import (
    MAX_CHARACTERS,
    METADATA,
    Metadata,
    description_in,
    failure,
    success,
    write_json,
)
from pipeline.service.pricing import price
from pipeline.service.spec import CODES, FAILURES, MATCHES, NOT_BLANK, Form


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    """Return a validator for a schema as it is written."""
    return Draft202012Validator(json.loads(write_json(schema)))


REQUEST = validator(spec.REQUEST)

FORMS: tuple[Form, ...] = ("detailed", "compact")

texts = st.text(st.characters(codec="utf-8"), max_size=30)
values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
bodies = values | st.fixed_dictionaries(
    {"description": texts | st.text(" \t\n\x1c\x85\u3000\ufeff\u200b", max_size=3) | values},
    optional={"other": values},
)


def takes(body: object) -> bool:
    """Say whether the service takes a body."""
    try:
        description_in(json.dumps(body).encode())
    except ValidationError:
        return False
    return True


@given(bodies)
@example({"description": "x" * MAX_CHARACTERS})
@example({"description": "x" * (MAX_CHARACTERS + 1)})
@example({"description": "\U0001f6e3" * MAX_CHARACTERS})
def test_the_service_takes_exactly_what_the_schema_of_the_request_allows(body: object) -> None:
    assert takes(body) == REQUEST.is_valid(body)


def test_white_space_is_the_same_to_the_schema_as_to_the_service() -> None:
    characters = "".join(map(chr, range(sys.maxunicode + 1)))
    blank = [character for character in characters if character.isspace()]
    assert list(re.sub(NOT_BLANK, "", characters)) == blank
    assert not any(REQUEST.is_valid({"description": character}) for character in blank)


@cache
def valid(system: System, form: Form) -> Draft202012Validator:
    return validator(spec.answer_schema(system, form))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("system", SYSTEMS)
@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8"), min_size=1, max_size=200), st.floats(0, 1)),
        max_size=10,
    )
)
def test_every_answer_has_the_form_that_the_schema_promises(
    system: System, form: Form, found: list[tuple[str, float]]
) -> None:
    code = MATCHES[system][0].code
    matches = [Match(code, title, confidence) for title, confidence in found]
    body = json.loads(success(system, "road", matches, price(matches), form))
    valid(system, form).validate(body)
    (other,) = set(FORMS) - {form}
    assert not valid(system, other).is_valid(body)


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_answer_of_another_system_or_with_more_or_less_in_it_is_none(system: System) -> None:
    matches = MATCHES[system]
    body = json.loads(success(system, "road", matches, price(matches), "detailed"))
    schema = valid(system, "detailed")
    assert schema.is_valid(body)
    for other in set(SYSTEMS) - {system}:
        assert not valid(other, "detailed").is_valid(body)
    for changed in [*without_each(body), {**body, "more": 1}]:
        assert not schema.is_valid(changed), changed
    assert not schema.is_valid({**body, "data": body["data"] * 6})
    for name, wrong in {"code": "?", "title": "", "confidence": 1.1, "cost": -1}.items():
        assert not schema.is_valid({**body, "data": [{**body["data"][0], name: wrong}]})


def without_each(value: Any) -> list[Any]:
    """Return copies of a body that each lack one of its fields."""
    lacking: list[Any] = []
    if isinstance(value, dict):
        lacking += [{k: v for k, v in value.items() if k != name} for name in value]
        for name, inner in value.items():
            lacking += [{**value, name: less} for less in without_each(inner)]
    elif isinstance(value, list) and value:
        lacking += [[less, *value[1:]] for less in without_each(value[0])]
    return lacking


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_code_of_the_tables_has_the_form_that_the_schema_promises(system: System) -> None:
    strange = [code for code in shipped(system).titles if not re.search(CODES[system], code)]
    assert strange == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_examples_are_codes_with_their_titles(system: System) -> None:
    titles = shipped(system).titles
    assert [titles[match.code] for match in MATCHES[system]] == [m.title for m in MATCHES[system]]


@pytest.mark.parametrize("one", FAILURES, ids=lambda one: str(one.status))
def test_a_failure_is_of_its_own_type_only(one: Any) -> None:
    schema = validator(spec.failure_schema(one))
    assert schema.is_valid(json.loads(failure(one.error, "Why.")))
    others = {other.error for other in FAILURES} - {one.error}
    assert not any(schema.is_valid(json.loads(failure(other, "Why."))) for other in others)
    assert not schema.is_valid(json.loads(failure(one.error, "")))


def test_the_forms_are_those_that_can_be_chosen() -> None:
    chosen: tuple[Metadata, ...] = (*FORMS, "mixed")
    assert chosen == METADATA
