"""Everybody gets the answer to his own question, and the systems share what they can."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS, BatchAnswers, Match, Matched, System
from pipeline.service.calls import Question, answer_questions


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


@given(st.lists(st.tuples(st.sampled_from(SYSTEMS), st.sampled_from("abcdefgh")), min_size=1))
def test_every_question_has_its_own_answer_and_each_system_is_asked_once(
    questions: list[Question],
) -> None:
    matchers = {system: Echo(system) for system in SYSTEMS}
    answers = answer_questions(matchers, questions)
    assert answers == [echoed(*question) for question in questions]
    for system, echo in matchers.items():
        asked = list(dict.fromkeys(text for of, text in questions if of == system))
        assert echo.handed == ([asked] if asked else [])
