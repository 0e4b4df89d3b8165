"""The word index: what it keeps of texts and titles, and how near a text is to a code."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from pipeline.engine.model.candidates import MEASURES, WordIndex
from pipeline.engine.model.encoder import Scorer
from pipeline.engine.model.features import Composition, count
from pipeline.engine.model.matrices import Floats
from pipeline.engine.training import Examples
from tests.engine.model.training_data import history, taught
from workshop.acceptance import build

CODES = ("03111000", "45233140", "90910000")
TITLES = ("Wheat and barley seeds", "Road paving", "Office cleaning")
TEXTS = ("barley wheat", "paving asphalt", "")


@cache
def scorer() -> Scorer:
    return taught().model.own


@cache
def index() -> WordIndex:
    """Return the index of a history and three titles."""
    taught, titles = Examples.of(*history(300)), Examples.of(TITLES, CODES)
    return build(scorer().encoder.vocabulary, scorer().codes, taught, titles)


def composed(*texts: str) -> Composition:
    return scorer().encoder.vocabulary.composed(count(texts))


def measured(*texts: str) -> Floats:
    """Return what is known of each text and each of the three codes."""
    places = np.tile([0, 1, 2], (len(texts), 1))
    return index().measured(composed(*texts).words, places)


def test_a_text_is_closest_to_the_code_with_its_words() -> None:
    found = measured(*TEXTS)
    assert found[0].argmax(axis=0).tolist() == [0, 0, 0, 0]
    assert found[1, :, 0].argmax() == found[1, :, 1].argmax() == 1
    assert found[2].tolist() == np.zeros((3, MEASURES)).tolist()


def test_half_of_a_title_measures_less_than_the_whole_title() -> None:
    half, whole = measured("road", "road paving")[:, 1, 2]
    assert 0 < half < whole <= 1.02


def test_a_word_of_too_many_codes_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workshop.acceptance.MOST_CODES", 2)
    texts = ["wheat district", "road district", "office district"]
    none = Examples.of([], [])
    words = build(scorer().encoder.vocabulary, scorer().codes, Examples.of(texts, CODES), none)
    seen = words.measured(composed("district", "wheat").words, np.tile([0, 1, 2], (2, 1)))
    assert not seen[0, :, 1].any()
    assert seen[1, :, 1].tolist() == [pytest.approx(seen[1].max()), 0, 0]


def test_the_index_keeps_the_words_of_the_most_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workshop.acceptance.MOST_ENTRIES", 1)
    taught = Examples.of(["wheat", "road", "road"], [CODES[0], CODES[1], CODES[1]])
    words = build(scorer().encoder.vocabulary, scorer().codes, taught, Examples.of([], []))
    seen = words.measured(composed("wheat", "road").words, np.tile([0, 1], (2, 1)))
    assert seen[:, :, 1].tolist() == [[0, 0], [0, pytest.approx(seen[1, 1, 1])]]
    assert seen[1, 1, 1] > 0


def test_a_code_that_the_index_lacks_can_be_a_candidate() -> None:
    words = index()
    known, unknown = words.measured(composed("barley wheat").words, np.array([[0, 3]]))[0]
    assert known.all()
    assert unknown.tolist() == [0] * MEASURES
