"""Titles in other languages."""

from __future__ import annotations

from decimal import Decimal

from pipeline.answers import Explained, Failed, Match, Matched, Pending
from pipeline.classification.write import translations
from pipeline.settings import Settings

ROADS = Match("45233140", "Roadworks", 0.9)


def test_only_the_titles_of_cpv_codes_change() -> None:
    unknown, with_check_digit = Match("99999999", "Odd", 0.1), Match("45000000-7", "Works", 0.2)
    answers = (
        Explained((ROADS, unknown, with_check_digit), Decimal(1), why="road"),
        Failed("VALIDATION_ERROR"),
        Pending(),
        Matched(()),
        None,
    )
    changed = translations(Settings(systems=("cpv", "psc"), language="de"))
    first, *others = map(changed["cpv"], answers)
    assert isinstance(first, Explained)
    assert [match.title for match in first.matches] == ["Straßenarbeiten", "Odd", "Bauarbeiten"]
    assert [match.code for match in first.matches] == ["45233140", "99999999", "45000000-7"]
    assert (first.cost_usd, first.why) == (Decimal(1), "road")
    assert others == list(answers[1:])
    assert "psc" not in changed


def test_english_changes_nothing() -> None:
    assert not translations(Settings(systems=("cpv",)))
    assert not translations(Settings(systems=("psc",), language="de"))
