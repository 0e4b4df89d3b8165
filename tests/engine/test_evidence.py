"""Noise gets no match, and a real text keeps its answer."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from string import ascii_lowercase
from uuid import UUID
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest

from pipeline.answers import SYSTEMS
from pipeline.engine import ranker
from pipeline.engine.evidence import Knows, enough_known, shares_known
from pipeline.engine.text.ngrams import Hashes

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


def knowing(words: Sequence[str] = (), parts: Sequence[str] = ()) -> Knows:
    """Know the hashes of some words and parts of words."""
    known = {False: [f"={word}" for word in words], True: parts}

    def knows(hashes: Hashes, are_parts: bool) -> npt.NDArray[np.bool_]:
        return np.isin(hashes, [crc32(name.encode()) for name in known[are_parts]])

    return knows


def share_known(words: Sequence[str] = (), parts: Sequence[str] = ()) -> float:
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
