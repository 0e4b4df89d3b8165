"""What a person types finds codes, whether a title has these words or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from pipeline.answers import Match, System
from pipeline.codes import CodeTable
from pipeline.engine import search, searched
from pipeline.engine.search import BY_TITLE


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


@pytest.fixture
def titles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace the titles of the CPV."""
    table = CodeTable("cpv", "today", "a test", "none", TITLES)
    monkeypatch.setattr(search, "load", lambda _: table)
    monkeypatch.setattr(search, "titles_by_language", lambda _: [[*TITLES.values()]])
    search._searchable.cache_clear()
    yield
    search._searchable.cache_clear()


TITLES = {
    "03450000": "Tree-nursery products",
    "03452000": "Birches",
    "15511000": "Milk (lapte)",
    "30237270": "Cases for laptops",
    "39112000": "Chairs",
    "39112100": "Dining chairs",
}


def found(
    monkeypatch: pytest.MonkeyPatch, words: str, *learned: Match, top: int = 5
) -> dict[str, float]:
    monkeypatch.setattr(search, "ranker", lambda _: Fixed(*learned))
    return {match.code: match.confidence for match in searched("cpv", words, top)}


@pytest.mark.usefixtures("titles")
def test_what_both_find_comes_first_and_what_the_model_only_guesses_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone = found(monkeypatch, "chairs")
    assert list(alone) == ["39112000", "39112100"]
    assert alone["39112000"] == BY_TITLE
    learned = Match("39112100", "Dining chairs", 0.4), Match("15511000", "Milk", 0.14)
    both = found(monkeypatch, "chairs", *learned)
    assert list(both) == ["39112100", "39112000"]
    assert both["39112100"] == pytest.approx(alone["39112100"] + 0.4)
    assert found(monkeypatch, "chairs", *learned, top=1) == {"39112100": both["39112100"]}
    only_known = Match("03452000", "Birches", 0.3)
    assert found(monkeypatch, "HR", only_known) == {"03452000": 0.3}
    assert found(monkeypatch, "qqxyzzy") == found(monkeypatch, "") == {}


@pytest.mark.usefixtures("titles")
@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("laptop", ["30237270"]),  # milk is lapte in Romanian
        ("LÁPTOPS", ["30237270"]),
        ("laptobs", ["30237270"]),  # a mistake
        ("lapte", ["15511000", "30237270"]),
        ("din", ["39112100"]),  # a part of a word
        ('a "chair"', ["39112000", "39112100"]),
        ("nurseries", ["03450000"]),
        ("chair " * 1_000, ["39112000", "39112100"]),
        ("tree nursery chairs", ["03450000"]),  # two of three words
    ],
)
def test_titles_with_most_of_the_words_are_found(
    monkeypatch: pytest.MonkeyPatch, words: str, codes: list[str]
) -> None:
    assert list(found(monkeypatch, words)) == codes


@pytest.mark.usefixtures("titles")
def test_titles_without_words_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "titles_by_language", lambda _: [["-"] * len(TITLES)])
    assert found(monkeypatch, "chairs") == {}


def test_a_code_that_no_tender_may_have_is_found_only_if_it_is_asked_for() -> None:
    assert "23" not in [match.code for match in searched("naics", "construction", 50)]
    found = searched("naics", "construction", 5, every_level=True)
    assert "23" in [match.code for match in found]


def test_nothing_is_found_for_unknown_words() -> None:
    assert searched("cpv", "qqxyzzy", 5) == []
