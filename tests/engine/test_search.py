"""What a person types finds codes, whether a title has these words or not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipeline.answers import Match, System
from pipeline.engine import searched


@pytest.mark.parametrize(
    ("words", "system", "code"),
    [
        ("trees", "cpv", "03452000"),  # the title
        ("Straßenbeleuchtung", "cpv", "34993000"),  # a title in German
        ("laptop", "unspsc", "43211503"),  # no title
    ],
)
def test_the_best_code_comes_first(words: str, system: System, code: str) -> None:
    found = searched(system, words, 5)
    assert found[0].code == code
    assert 0 < len({match.code for match in found}) == len(found) <= 5
    assert sorted(found, key=lambda match: -match.confidence) == found


class Fixed:
    """A ranker that always gives the same matches."""

    def __init__(self, *matches: Match) -> None:
        self._matches = matches

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        return [self._matches[:top] for _ in texts]


def answer(monkeypatch: pytest.MonkeyPatch, by_title: Fixed, learned: Fixed) -> None:
    monkeypatch.setattr("pipeline.engine.search.title_ranker", lambda _: by_title)
    monkeypatch.setattr("pipeline.engine.search.ranker", lambda _: learned)


def test_what_both_find_comes_first_and_what_the_model_only_guesses_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_title = Fixed(Match("1", "one", 0.3), Match("2", "two", 0.2))
    answer(monkeypatch, by_title, Fixed(Match("2", "two", 0.25), Match("3", "three", 0.14)))
    found = searched("cpv", "words", 5)
    assert [(match.code, match.confidence) for match in found] == [("2", 0.45), ("1", 0.3)]
    assert searched("cpv", "words", 1) == found[:1]


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("laptop", ["30237270", "15511000"]),  # milk is lapte in Romanian
        ("laptops", ["30237270", "15511000"]),
        ("bags for laptops", ["30237270", "15511000"]),
        ("lapte", ["15511000", "30237270"]),
        ("laptup", ["15511000", "30237270"]),  # it is in neither
    ],
)
def test_a_title_with_the_word_comes_before_one_that_shares_its_letters(
    monkeypatch: pytest.MonkeyPatch, words: str, codes: list[str]
) -> None:
    by_title = Fixed(Match("15511000", "Milk", 0.3), Match("30237270", "Cases", 0.2))
    answer(monkeypatch, by_title, Fixed())
    assert [match.code for match in searched("cpv", words, 5)] == codes


def test_a_code_below_one_with_the_word_has_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Match(code, code, 0.3) for code in ("15511000", "03450000", "03452000")]
    answer(monkeypatch, Fixed(*found), Fixed())
    confidences = {match.code: match.confidence for match in searched("cpv", "nursery", 5)}
    assert confidences == {"03450000": 0.3, "03452000": 0.3, "15511000": 0.15}


def test_an_abbreviation_that_only_the_model_knows_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Match("541611", "Management consulting", 0.3)
    answer(monkeypatch, Fixed(), Fixed(known))
    assert searched("naics", "HR", 5) == [known]


def test_nothing_is_found_for_unknown_words() -> None:
    assert searched("cpv", "qqxyzzy", 5) == []
