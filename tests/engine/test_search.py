"""What a person types finds codes, whether a title has these words or not."""

from __future__ import annotations

import pytest

from pipeline.answers import System
from pipeline.engine import searched


@pytest.mark.parametrize(
    ("words", "system", "code"),
    [
        ("trees", "cpv", "03452000"),  # the title
        ("Straßenbeleuchtung", "cpv", "34993000"),  # a title in German
        ("laptop", "unspsc", "43210000"),  # no title
    ],
)
def test_the_best_code_comes_first(words: str, system: System, code: str) -> None:
    found = searched(system, words, 5)
    assert found[0].code == code
    assert 0 < len({match.code for match in found}) == len(found) <= 5
    assert sorted(found, key=lambda match: -match.confidence) == found


def test_what_the_model_only_guesses_is_not_found() -> None:
    assert searched("cpv", "qqxyzzy", 5) == []
