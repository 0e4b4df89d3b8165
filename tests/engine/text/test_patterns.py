"""The faster forms of the patterns find what the plain ones do."""

from __future__ import annotations

import re
import unicodedata
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.engine.text.boilerplate import EXCLUDING
from pipeline.engine.text.cleaning import clauses, readable
from pipeline.engine.text.ngrams import Words, gram_hashes, word_hashes

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


WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=8)


@settings(max_examples=30)
@given(WORDS)
def test_the_hash_of_a_word_is_that_of_its_marked_bytes(words: list[str]) -> None:
    assert word_hashes(words).tolist() == [crc32(f"={word}".encode()) for word in words]


@settings(max_examples=30)
@given(WORDS, st.sampled_from([(3, 4, 5), (5,)]))
def test_the_hashes_of_n_grams_are_those_of_their_bytes_in_any_script(
    words: list[str], lengths: tuple[int, ...]
) -> None:
    hashes, owners = gram_hashes(words, lengths)
    for place, word in enumerate(words):
        marked = f"<{word}>"
        grams = [
            marked[start : start + length]
            for length in lengths
            for start in range(len(marked) - length + 1)
        ]
        expected = sorted(crc32(gram.encode()) for gram in grams)
        assert sorted(hashes[owners == place].tolist()) == expected
