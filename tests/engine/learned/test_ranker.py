from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipeline.answers import Match
from pipeline.codes import CodeTable, load
from pipeline.engine.learned import Examples, Model, train
from pipeline.engine.learned.ranker import LearnedRanker
from tests.engine.learned.lessons import history, ignored, taught

VESSELS = Match("34512000", "Ships", 0.5)
ROAD = Match("45233140", "Roadworks", 0.9)


class Titles:
    """Answers every text alike."""

    def __init__(self, *matches: Match) -> None:
        self.matches = matches
        self.asked: list[str] = []

    def __call__(self) -> Titles:
        return self

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        self.asked += texts
        return [self.matches[:top]] * len(texts)

    def why(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        return [f"{code} by title" for code in codes]


@pytest.fixture(scope="module")
def model() -> Model:
    titles = Examples.of(["Musical instruments"], ["37310000"])
    learned = train("cpv", Examples.of(*history(200)), titles, ignored).model
    assert learned.unseen == 0
    return replace(learned, unseen=0.5)


def test_the_model_answers_first_and_a_code_that_it_does_not_know_behind_it(model: Model) -> None:
    ((first, *others),) = LearnedRanker(model, load("cpv"), Titles(VESSELS)).rank(
        ["wheat grain seeds"], 4
    )
    assert (first.code, first.title) == ("03111000", load("cpv").titles["03111000"])
    (ships,) = [match for match in others if match.code == VESSELS.code]
    assert ships.confidence == pytest.approx(0.5 * 0.5 * (1 - first.confidence), abs=2e-4)


def test_titles_do_not_speak_for_a_code_that_was_taught(model: Model) -> None:
    with_titles, without = (
        LearnedRanker(model, load("cpv"), titles).rank(["wheat grain"], 4)
        for titles in (Titles(ROAD), Titles())
    )
    assert with_titles == without


def test_where_the_model_knows_nothing_the_titles_answer(model: Model) -> None:
    ranker = LearnedRanker(model, load("cpv"), Titles(ROAD, VESSELS))
    assert ranker.rank(["жюфц"], 5) == [(ROAD, VESSELS)]
    assert LearnedRanker(model, load("cpv"), Titles()).rank(["жюфц", ""], 5) == [(), ()]
    assert ranker.rank([], 5) == []


def test_a_model_of_nothing_but_its_history_answers_alone() -> None:
    ranker = LearnedRanker(taught().model, load("cpv"), Titles(VESSELS))
    (matches,) = ranker.rank(["wheat"], 10)
    assert {match.code for match in matches} <= {"03111000", "45233140", "90910000"}
    assert ranker.rank(["жюфц"], 5) == [()]


def test_a_code_that_the_table_has_no_more_is_not_given(model: Model) -> None:
    titles = {code: title for code, title in load("cpv").titles.items() if code != "03111000"}
    table = CodeTable("cpv", "today", "a test", "none", titles, dict.fromkeys(titles, ""))
    (matches,) = LearnedRanker(model, table, Titles()).rank(["wheat grain"], 2)
    assert len(matches) == 2
    assert "03111000" not in [match.code for match in matches]


def test_confidence_falls_along_at_most_top_distinct_codes(model: Model) -> None:
    ranker = LearnedRanker(model, load("cpv"), Titles(VESSELS, ROAD))
    for matches in ranker.rank(history(30, seed=4)[0], 3):
        sure = [match.confidence for match in matches]
        assert len({match.code for match in matches}) == len(matches) <= 3
        assert sure == sorted(sure, reverse=True)
        assert 1 >= sure[0] > 0


def test_the_words_of_a_text_are_named_and_a_repeat_says_so(model: Model) -> None:
    text = history(200)[0][0]
    ranker = LearnedRanker(model, load("cpv"), Titles())
    again, new = ranker.why([text, "barley and WHEAT"], [code(ranker, text), "03111000"])
    assert again == "the same text in the history"
    assert set(new.split(", ")) == {"barley", "WHEAT"}


def test_a_repeat_is_no_reason_for_another_code(model: Model) -> None:
    (text, *_), (own, *_) = history(200)
    other = next(code for code in ("03111000", "45233140") if code != own)
    (why,) = LearnedRanker(model, load("cpv"), Titles()).why([text], [other])
    assert "history" not in why


def test_the_titles_say_why_where_the_code_is_theirs(model: Model) -> None:
    ranker = LearnedRanker(model, load("cpv"), Titles())
    whys = ranker.why(["жюфц", "ships", "wheat"], ["03111000", "34512000", "03111000"])
    assert whys == ["03111000 by title", "34512000 by title", "wheat"]
    alone = LearnedRanker(taught().model, load("cpv"), Titles())
    assert alone.why(["жюфц"], ["03111000"]) == [""]
    assert alone.why([], []) == []


def code(ranker: LearnedRanker, text: str) -> str:
    ((match,),) = ranker.rank([text], 1)
    return match.code
