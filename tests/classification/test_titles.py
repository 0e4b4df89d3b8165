"""Titles in other languages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from pipeline.answers import Answer, BatchAnswers, Explained, Failed, Match, Matched, Pending
from pipeline.classification.titles import in_language
from pipeline.settings import Settings

ROADS = Match("45233140", "Roadworks", 0.9)


class Answers:
    """Answers each batch with the same answers for both systems."""

    def __init__(self, *answers: Answer | None) -> None:
        self._answers = answers

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        for _ in batches:
            yield {"cpv": self._answers, "psc": self._answers}


def test_only_the_titles_of_cpv_codes_change() -> None:
    unknown, with_check_digit = Match("99999999", "Odd", 0.1), Match("45000000-7", "Works", 0.2)
    answers = (
        Explained((ROADS, unknown, with_check_digit), Decimal(1), why="road"),
        Failed("VALIDATION_ERROR"),
        Pending(),
        Matched(()),
        None,
    )
    settings = Settings(systems=("cpv", "psc"), language="de")
    (found,) = in_language(Answers(*answers), settings).answers([["road"]])
    first, *others = found["cpv"]
    assert isinstance(first, Explained)
    assert [match.title for match in first.matches] == ["Straßenarbeiten", "Odd", "Bauarbeiten"]
    assert [match.code for match in first.matches] == ["45233140", "99999999", "45000000-7"]
    assert (first.cost_usd, first.why) == (Decimal(1), "road")
    assert others == list(answers[1:])
    assert found["psc"] == answers


def test_english_changes_nothing() -> None:
    matcher = Answers(Matched((ROADS,)))
    assert in_language(matcher, Settings(systems=("cpv",))) is matcher
    assert in_language(matcher, Settings(systems=("psc",), language="de")) is matcher
