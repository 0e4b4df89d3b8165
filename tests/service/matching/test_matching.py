"""Everybody gets the answer to his own question, and the systems share what they can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS, BatchAnswers, Match, Matched, System
from pipeline.service.matching.calls import Matching, Question


class Echo:
    """Answers with the text itself, and keeps which lists it was handed."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.handed: list[Sequence[str]] = []

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        for texts in batches:
            self.handed.append(texts)
            yield {self._system: [echoed(self._system, text) for text in texts]}


def echoed(system: System, text: str) -> Matched:
    return Matched((Match(system, text, 0.5),))


def handed(questions: Sequence[Question]) -> dict[System, list[Sequence[str]]]:
    """Ask, and return which lists each system was handed."""
    return handed_by_batch([questions])


def handed_by_batch(batches: Sequence[Sequence[Question]]) -> dict[System, list[Sequence[str]]]:
    """Ask one batch after the other, and return which lists each system was handed."""
    matchers = {system: Echo(system) for system in SYSTEMS}
    matching = Matching(matchers)
    for questions in batches:
        assert matching.answers(questions) == [echoed(*question) for question in questions]
    return {system: echo.handed for system, echo in matchers.items() if echo.handed}


@given(st.lists(st.tuples(st.sampled_from(SYSTEMS), st.sampled_from("abcdefgh")), min_size=1))
def test_every_question_has_its_own_answer_and_each_system_is_asked_once(
    questions: list[Question],
) -> None:
    for system, lists in handed(questions).items():
        (texts,) = lists
        assert len(texts) == len(set(texts))
        assert {text for of, text in questions if of == system} <= set(texts)


def test_systems_that_are_asked_about_most_texts_are_handed_the_same_list() -> None:
    rows: list[Question] = [(system, text) for text in "abcd" for system in SYSTEMS]
    ragged = rows[2:-1]  # as calls come when they are cut into batches anywhere
    assert handed(ragged) == {system: [["a", "b", "c", "d"]] for system in SYSTEMS}


def test_a_system_that_is_asked_about_few_texts_is_not_asked_about_the_others() -> None:
    questions: list[Question] = [("cpv", text) for text in "abcde"]
    questions += [("psc", "b"), ("psc", "e"), ("cpv", "a")]
    assert handed(questions) == {"cpv": [["a", "b", "c", "d", "e"]], "psc": [["b", "e"]]}


def test_what_a_batch_answered_beyond_its_questions_is_not_asked_again_by_the_next() -> None:
    rows: list[Question] = [(system, text) for text in "abcdef" for system in SYSTEMS]
    lists = [["a", "b", "c"], ["d", "e", "f"]]
    assert handed_by_batch([rows[:10], rows[10:]]) == dict.fromkeys(SYSTEMS, lists)


@given(
    st.lists(st.tuples(st.sampled_from(SYSTEMS), st.sampled_from("abcdefgh")), min_size=1),
    st.integers(1, 10),
)
def test_batches_change_no_answer(questions: list[Question], size: int) -> None:
    starts = range(0, len(questions), size)
    handed_by_batch([questions[start : start + size] for start in starts])
