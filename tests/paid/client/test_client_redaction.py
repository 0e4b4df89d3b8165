from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.paid.client.client import SHORTEST_SECRET, forms_of, redact

KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=SHORTEST_SECRET)


@given(KEYS)
def test_a_key_is_blotted_out_as_it_is_in_json_and_in_addresses(key: str) -> None:
    forms = forms_of(key)
    escaped = json.dumps(key)[1:-1]
    for form in (key, escaped, escaped.replace("/", "\\/"), quote(key), quote(key, safe="")):
        assert redact(b"<" + form.encode() + b">", forms) == b"<" + b"*" * len(form) + b">"


@pytest.mark.parametrize(
    "form", [r"a\u003cb\u003ec\u0026d\u002be/f", r"a\u003Cb\u003Ec\u0026d\u002Be\/f"]
)
def test_a_key_is_blotted_out_as_json_for_web_pages_has_it(form: str) -> None:
    key = "a<b>c&d+e/f" + "0" * SHORTEST_SECRET
    assert json.loads(f'"{form}"') + "0" * SHORTEST_SECRET == key
    said = (form + "0" * SHORTEST_SECRET).encode()
    assert redact(said, forms_of(key)) == b"*" * len(said)


@pytest.mark.parametrize("key", [None, "short"])
def test_no_key_and_one_that_may_be_a_word_change_nothing(key: str | None) -> None:
    assert redact(b"a short title", forms_of(key)) == b"a short title"
