"""Stop words, numbers and single letters never explain a code."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.features import parts, tokens
from pipeline.engine.text.attribution import says_nothing, strongest


@pytest.mark.parametrize("word", ["and", "für", "pour", "oraz", "και", "12", "2024", "x", "mm"])
def test_a_word_that_says_nothing_is_left_out(word: str) -> None:
    text = f"{word} barley {word}"
    apart = parts(text)
    features = np.unique(apart.features)
    pulls = np.where(np.isin(features, apart.features[apart.owners != 1]), 9.0, 1.0)
    assert [name for name, _ in strongest(text, apart, features, pulls, tokens)] == ["barley"]


@pytest.mark.parametrize("word", ["it", "most", "gas", "5120-00-123-4567", "except food"])
def test_a_word_that_may_say_what_is_bought_is_kept(word: str) -> None:
    assert not says_nothing(word)


def test_a_text_of_stop_words_alone_has_no_reasons() -> None:
    apart = parts("and for the 12")
    features = np.unique(apart.features)
    assert strongest("and for the 12", apart, features, np.ones(len(features)), tokens) == ()
