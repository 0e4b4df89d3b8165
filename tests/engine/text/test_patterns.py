"""The faster forms of the patterns find what the plain ones do."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.engine.text.boilerplate import EXCLUDING
from pipeline.engine.text.cleaning import clauses, readable
from pipeline.engine.text.ngrams import Words

FOLDED = st.text(st.sampled_from("abcz01_-. \n\u00df\u0142\u0434\u2019"), max_size=30)


@settings(max_examples=30)
@given(FOLDED)
@pytest.mark.parametrize(
    "pattern", [r"[^\W\d_]{2,60}", r"(?<![^\W_])[^\W\d_]{2,6}(?![^\W_])", r"[^\W\d_]+|\d{2}"]
)
def test_words_are_found_alike_in_ascii_and_in_other_texts(pattern: str, text: str) -> None:
    found = Words(pattern)
    assert found.findall(text) == re.findall(pattern, text)
    assert [match[0] for match in found.finditer(text)] == re.findall(pattern, text)


def test_each_word_that_begins_an_exclusion_is_looked_for() -> None:
    words = [*EXCLUDING["words"], *EXCLUDING["in_brackets"]]
    assert [word for word in words if not any(stem in word for stem in EXCLUDING["stems"])] == []
    for word in EXCLUDING["words"]:
        text = f"stores {word.replace(chr(92) + 'W', ' ')} food"
        assert any(excluded for _, excluded in clauses(text)), word


def test_every_accent_is_removed_and_nothing_else() -> None:
    points = [chr(point) for point in range(0x1F000)]
    accents = "".join(
        each for each in points if unicodedata.combining(each) and each == each.casefold()
    )
    for accent in accents:
        assert readable(f"a{accent}b") == "ab"
    grapheme_joiner = "\u034f"
    assert readable(f"a{grapheme_joiner}b") == f"a{grapheme_joiner}b"
