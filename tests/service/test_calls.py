"""Everybody gets the answer to his own question, and the systems share what they can."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS, BatchAnswers, Match, Matched, System
from pipeline.service.calls import Batches, Question, answer_questions
from tests.paid.client.virtual_time import MovedLoop


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


pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "asyncio", {"loop_factory": MovedLoop}


class Doubling:
    """Doubles numbers once it is let, and keeps what it was handed together."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []
        self.let = threading.Event()

    def __call__(self, items: Sequence[int]) -> Sequence[int]:
        self.batches.append(items)
        assert self.let.wait(10)
        if 0 in items:
            raise ZeroDivisionError
        return [2 * item for item in items]


async def _waiting(batches: Batches[int, int], items: Sequence[int]) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(batches.result(item)) for item in items]
    await asyncio.sleep(0)  # each has put its item down by now
    return tasks


async def test_items_that_wait_are_handled_together_and_each_gets_its_own_result() -> None:
    work = Doubling()
    batches = Batches(work, most=3)
    tasks = await _waiting(batches, range(1, 9))
    work.let.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8, 10, 12, 14, 16]
    assert work.batches == [(1, 2, 3), (4, 5, 6), (7, 8)]


async def test_items_that_arrive_during_a_batch_are_in_the_next() -> None:
    work = Doubling()
    batches = Batches(work, most=100)
    first = await _waiting(batches, [1])
    while not work.batches:
        await asyncio.sleep(0.001)
    more = await _waiting(batches, [2, 3])
    work.let.set()
    assert await asyncio.gather(*first, *more) == [2, 4, 6]
    assert work.batches == [(1,), (2, 3)]


async def test_a_failure_reaches_its_batch_and_ends_nothing() -> None:
    work = Doubling()
    work.let.set()
    batches = Batches(work, most=2)
    tasks = await _waiting(batches, [0, 1, 2])
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [ZeroDivisionError, ZeroDivisionError, int]
    assert await batches.result(5) == 10


async def test_a_caller_that_gives_up_keeps_no_other_from_its_result() -> None:
    work = Doubling()
    batches = Batches(work, most=2)
    gone, stays = await _waiting(batches, [1, 2])
    while not work.batches:
        await asyncio.sleep(0.001)
    gone.cancel()
    work.let.set()
    assert await stays == 4
    assert gone.cancelled()


async def test_nobody_waits_for_ever_when_there_are_too_few_results() -> None:
    batches: Batches[int, int] = Batches(lambda items: items[:1], most=2)
    tasks = await _waiting(batches, [1, 2])
    async with asyncio.timeout(10):
        first, second = await asyncio.gather(*tasks, return_exceptions=True)
    assert first == 1
    assert isinstance(second, ValueError)
    assert await batches.result(5) == 5
