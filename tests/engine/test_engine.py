from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from random import Random
from string import ascii_lowercase
from uuid import UUID
from zlib import crc32

import numpy as np
import pytest

from pipeline.answers import SYSTEMS, BatchAnswers, Match, Matched, System
from pipeline.codes import load
from pipeline.engine import Engine, engine, ranker
from pipeline.engine.model.features import Vocabulary, hashed_features, word_hashes
from pipeline.engine.model.known_words import enough_known, shares_known
from pipeline.errors import EngineError
from pipeline.processes import AHEAD

BATCHES = [
    ["wheat farming", "", "steel bridges"],
    ["123"],
    [],
    ["", ""],
    *([title] for title in list(load("naics").titles.values())[:40]),
]


class Fatal(str):
    """A text that kills -9 the process that receives it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        return signal.raise_signal, (signal.SIGKILL,)


class Counted:
    """Batches that count how many of them were taken."""

    def __init__(self, batches: Sequence[Sequence[str]]) -> None:
        self.taken = 0
        self._batches = batches

    def __iter__(self) -> Iterator[Sequence[str]]:
        for batch in self._batches:
            self.taken += 1
            yield batch


def test_each_row_has_its_answer_and_a_row_without_text_has_none() -> None:
    systems: list[System] = ["naics", "psc"]
    (answers,) = Engine(systems).answers([["wheat farming", "", "123"]])
    assert list(answers) == systems
    for system in systems:
        (expected,) = ranker(system).rank(["wheat farming"], 10)
        assert answers[system] == [Matched(expected), None, Matched(())]


def test_there_is_a_result_a_batch_even_of_no_rows() -> None:
    assert list(Engine(["naics"]).answers([[], [""]])) == [{"naics": []}, {"naics": [None]}]
    assert list(Engine(["naics"]).answers([])) == []


def test_an_answer_has_at_most_top_matches() -> None:
    (answers,) = Engine(["naics"], top=3).answers([["construction"]])
    (answer,) = answers["naics"]
    assert isinstance(answer, Matched)
    assert len(answer.matches) == 3


def test_texts_that_repeat_are_ranked_once_and_answered_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class Spy:
        def rank(self, texts: Sequence[str], top: int) -> list[tuple[()]]:
            asked.extend(texts[:top])
            return [()] * len(texts)

    monkeypatch.setattr(engine, "ranker", lambda *_: Spy())
    (answers,) = Engine(["naics"]).answers([["b", "a", "b", "", "b"]])
    assert asked == ["b", "a"]
    assert answers["naics"] == [Matched(()), Matched(()), Matched(()), None, Matched(())]


def test_one_process_takes_a_batch_only_when_its_answers_are_asked_for() -> None:
    batches = Counted(BATCHES)
    answers = Engine(["naics"]).answers(batches)
    assert batches.taken == 0
    for number in (1, 2, 3):
        next(answers)
        assert batches.taken == number


def test_two_processes_give_the_same_answers_in_the_same_order() -> None:
    """Their string hashes differ, so this also shows that no answer depends on those."""
    systems: list[System] = ["naics", "psc"]
    one, two = (list(Engine(systems, jobs=jobs).answers(BATCHES)) for jobs in (1, 2))
    assert one == two


def test_auto_answers_a_small_table_here_and_starts_processes_for_a_large_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = list[tuple[int, int]]()

    def in_processes(
        work: Callable[[Sequence[str]], BatchAnswers],
        batches: Iterable[Sequence[str]],
        jobs: int,
    ) -> Iterator[BatchAnswers]:
        rest = list(batches)
        started.append((jobs, len(rest)))
        return map(work, rest)

    monkeypatch.setattr(engine, "in_processes", in_processes)
    monkeypatch.setattr("loky.cpu_count", lambda: 2)
    expected = list(Engine(["naics"]).answers(BATCHES))
    batches = Counted(BATCHES)
    answers = Engine(["naics"], jobs="auto").answers(batches)
    assert [next(answers), batches.taken, *answers] == [expected[0], 1, *expected[1:]]
    monkeypatch.setattr(engine, "ALONE", 7)
    assert list(Engine(["naics"], jobs="auto").answers(BATCHES)) == expected
    assert started == [(1, len(BATCHES)), (1, 0), (2, len(BATCHES) - 6)]


def test_two_processes_read_only_a_few_batches_ahead_and_may_be_left_early() -> None:
    batches = Counted(BATCHES)
    answers = Engine(["naics"], jobs=2).answers(batches)
    assert len(list(islice(answers, 3))) == 3
    assert batches.taken <= 3 + AHEAD * 2
    del answers  # this closes the generator and ends its processes


def test_a_worker_that_dies_is_an_error_that_names_the_way_out() -> None:
    with pytest.raises(EngineError, match="A worker process died") as caught:
        list(Engine(["naics"], jobs=2).answers([["wheat"], [Fatal("x")], ["steel"], ["road"]]))
    assert caught.value.hint == "Run again with fewer processes: --jobs 1."


def test_answering_leaves_nothing_for_the_garbage_collector() -> None:
    engine, texts = (
        Engine(SYSTEMS),
        [f"road works in the north of town {number}" for number in "12"],
    )
    list(engine.answers([texts]))  # loads the models
    gc.collect()
    gc.disable()
    try:
        list(engine.answers([["grit for roads", "school meals"]]))
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_blas_has_one_thread_while_texts_are_ranked_and_as_many_as_before_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas")

    def threads() -> set[int]:
        # SciPy has a library of its own, which may be loaded after the engine looked for them.
        return {each["num_threads"] for each in blas.info() if "numpy" in each["filepath"]}

    seen: set[int] = set()

    class Ranks:
        def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
            seen.update(threads())
            return [()] * len(texts)

    monkeypatch.setattr(engine, "ranker", lambda *_: Ranks())
    with blas.limit(limits=2):
        list(Engine(["naics"]).answers([["wheat farming"]]))
        assert seen == {1}
        assert threads() == {2}


NOISE = [
    "asdf qwer zxcv",
    "yxcvb nmkol",
    "xkjhq wvbnz",
    "12345",
    "8f14e45f-ceea-467a-9575-0d1c2b3a4e5f",
    "VH-54410/2016",
    "😀😀",
    "??",
]

REAL = [
    "Office chairs",
    "Straßenbeleuchtungserneuerung",
    "Доставка на лекарствени продукти",
    "Nettoyage de vitres",
    "Lääketietovarannon kehittäminen",
    "IT",
]


def knowing(words: Sequence[str] = ("other",), parts: Sequence[str] = ()) -> Vocabulary:
    """Know some words and parts of words."""
    hashes = np.array([crc32(part.encode()) for part in parts], np.uint32)
    both = hashed_features(word_hashes(words), 0), hashed_features(hashes, 2)
    features = np.sort(np.concatenate(both))
    return Vocabulary(features, np.ones(len(features), np.float32))


def share_known(words: Sequence[str] = ("other",), parts: Sequence[str] = ()) -> float:
    return float(shares_known(["road works"], knowing(words, parts))[0])


@pytest.mark.parametrize("text", NOISE)
def test_noise_gets_no_match_in_any_system(text: str) -> None:
    assert [ranker(system).rank([text], 3) for system in SYSTEMS] == [[()]] * 4


@pytest.mark.parametrize("text", REAL)
def test_a_real_text_is_answered_in_any_language(text: str) -> None:
    ((match,),) = ranker("cpv").rank([text], 1)
    assert match.confidence > 0


def test_of_made_up_rows_of_letters_hardly_any_is_answered() -> None:
    random = Random(5)
    texts = [
        " ".join(
            "".join(random.choices(ascii_lowercase, k=random.randint(4, 9))) for _ in range(12)
        )
        for _ in range(200)
    ]
    texts += [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(200)]
    answered = [
        text for text, found in zip(texts, ranker("psc").rank(texts, 1), strict=True) if found
    ]
    assert len(answered) < 15


def test_a_word_counts_by_its_length_as_a_whole_or_so_far_as_its_parts_are_known() -> None:
    assert share_known() == 0.0
    assert share_known(["road"]) == pytest.approx(4 / 9)
    assert share_known(["road", "works"]) == 1.0
    assert share_known(parts=["<road"]) == pytest.approx(4 / 9 / 2)


def test_short_words_tell_something_only_where_they_are_alone() -> None:
    texts = ["it", "it 2024", "it xqzt", "5305-00-123-4567", "", "f18 a1b2"]
    assert [*shares_known(texts, knowing(["it"]))] == [1.0, 0.0, 0.0, 1.0, 0.0, 0.0]


def test_a_text_is_known_if_its_beginning_is_or_else_all_of_it() -> None:
    noise, words = "xqzt " * 50, "road works " * 25
    texts = [words + noise * 4, noise + words, noise * 3 + words, noise, ""]
    known = enough_known(texts, knowing(["road", "works"]), 0.4)
    assert known.tolist() == [True, True, False, False, False]


def test_a_beginning_that_is_known_a_little_does_not_make_noise_a_text() -> None:
    beginning, noise = "road xqzt wxqz vkqj " * 10, "xqzt " * 150
    known = enough_known([beginning, beginning + noise], knowing(["road"]), 0.2)
    assert known.tolist() == [True, False]
