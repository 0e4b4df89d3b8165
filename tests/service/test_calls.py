"""Everybody gets the answer to his own question, and the systems share what they can."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answers import SYSTEMS, BatchAnswers, Match, Matched, System
from pipeline.service.calls import MOST_ANSWERS, Batches, Question, answer_questions
from tests.paid.client.virtual_time import MovedLoop, pass_time

T = TypeVar("T")


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
    found = 0
    for system, echo in matchers.items():
        asked = {text for of, text in questions if of == system}
        assert len(echo.handed) == bool(asked)
        for texts in echo.handed:
            assert asked <= {*texts}
            found += len(texts)
    assert found <= MOST_ANSWERS * len({*questions})


def test_systems_that_share_most_texts_read_the_same_list() -> None:
    matchers = {system: Echo(system) for system in SYSTEMS}
    answer_questions(matchers, [(system, text) for text in "abcd" for system in SYSTEMS][1:-1])
    assert [echo.handed for echo in matchers.values()] == [[[*"abcd"]]] * len(SYSTEMS)


pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "asyncio", {"loop_factory": MovedLoop}


class Doubling:
    """Doubles numbers once it is let, and keeps what it was handed together."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []
        self.begun, self.let = threading.Event(), threading.Event()

    def __call__(self, items: Sequence[int]) -> Sequence[int]:
        self.batches.append(items)
        self.begun.set()
        assert self.let.wait(10)
        if 0 in items:
            raise ZeroDivisionError
        return [2 * item for item in items]


async def _waiting(batches: Batches[int, int], items: Sequence[int]) -> list[asyncio.Task[int]]:
    return await _started(*(batches.result(item) for item in items))


async def _started(*callers: Coroutine[Any, Any, T]) -> list[asyncio.Task[T]]:
    tasks = [asyncio.create_task(caller) for caller in callers]
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
    assert await asyncio.to_thread(work.begun.wait, 10)
    more = await _waiting(batches, [2, 3])
    work.let.set()
    assert await asyncio.gather(*first, *more) == [2, 4, 6]
    assert work.batches == [(1,), (2, 3)]


async def test_callers_that_ask_again_at_once_join_those_that_waited_meanwhile() -> None:
    work = Doubling()
    batches = Batches(work, most=100)

    async def ask_twice(first: int) -> None:
        await batches.result(first)
        await batches.result(first + 1)

    twice = await _started(ask_twice(1), ask_twice(3))
    assert await asyncio.to_thread(work.begun.wait, 10)
    more = await _waiting(batches, [5])
    await pass_time(1_000)  # a long batch, so the next one waits long enough
    work.let.set()
    await asyncio.gather(*twice, *more)
    assert [sorted(batch) for batch in work.batches] == [[1, 3], [2, 4, 5]]


async def test_callers_that_do_not_ask_again_are_not_waited_for_long() -> None:
    work = Doubling()
    work.let.set()
    batches = Batches(work, most=100)
    await asyncio.gather(*await _waiting(batches, [1, 2]))
    async with asyncio.timeout(10):
        assert await batches.result(3) == 6


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
    assert await asyncio.to_thread(work.begun.wait, 10)
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
