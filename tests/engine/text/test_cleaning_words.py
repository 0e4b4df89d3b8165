from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.engine.text.cleaning import MAX_CHARS, MAX_WORDS, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Road WORKS", ["road", "works"]),
        ("Büromöbel, Škoda; café", ["buromobel", "skoda", "cafe"]),
        ("Straße", ["strasse"]),
        ("Προμήθεια ΥΠΗΡΕΣΊΕΣ", ["προμηθεια", "υπηρεσιεσ"]),
        ("Изграждане на път", ["изграждане", "на", "път"]),
        ("<p class='x'>Road</p><br/>works", ["road", "works"]),
        ("caf&eacute; &amp; bar&nbsp;supplies", ["cafe", "bar", "supplies"]),
        ("<!-- none --> chairs", ["chairs"]),
        ("&lt;strong&gt;Road&lt;/strong&gt; works", ["road", "works"]),
        ("bridges < 5 m, tunnels > 9 m", ["bridges", "tunnels"]),
        ("lot 45233141-9 in 2024", ["lot", "in"]),
        ("A4paper x2y hi-fi snake_case", ["paper", "hi", "fi", "snake", "case"]),
        ("Windows™ №5 \U0001d411oad", ["windowstm", "no", "road"]),
        ("ﬁre ＥＮＧＩＮＥ", ["fire", "engine"]),  # noqa: RUF001
        ("a b c", []),
        ("12 34 --- !!!", []),
        ("", []),
    ],
)
def test_words_are_letters_without_case_accents_tags_and_entities(
    text: str, expected: list[str]
) -> None:
    assert words(text) == expected


def test_a_text_written_in_capitals_or_decomposed_has_the_same_words() -> None:
    assert words("İSTANBUL MÜNCHEN") == words("i̇stanbul mu\u0308nchen")


def test_only_the_first_words_of_a_long_text_count() -> None:
    assert words("road " * MAX_WORDS + "bridge") == ["road"] * MAX_WORDS


def test_a_huge_cell_costs_little() -> None:
    assert words("x" * 10_000_000) == ["x" * 60] * MAX_WORDS
    assert words(" " * MAX_CHARS + "road") == []


@given(st.text())
def test_words_of_any_text_are_bounded_and_free_of_case_digits_and_signs(text: str) -> None:
    for word in words(text):
        assert len(word) >= 2
        assert word == word.casefold()
        assert word.isalnum()
        assert not any(character.isdecimal() for character in word)
    assert len(words(text)) <= MAX_WORDS


@given(st.text(st.characters(categories=["Nd", "P", "Zs"], exclude_characters="&")))
def test_digits_and_punctuation_are_not_words(text: str) -> None:
    assert words(text) == []
