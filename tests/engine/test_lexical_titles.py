from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.lexical import counted, term_counts
from pipeline.engine.text.cleaning import words

ODD = [
    "",
    "12 34",
    "Road works, road signs",
    "Büro für R&D",
    "Изграждане на път",
    "a b",
    "路面 工程",
]
LONG = "Notice of award under reference AB-2024/117. Supply of office chairs. " * 4


@pytest.mark.parametrize("titles", [ODD, [*ODD, LONG, "x" * 70], [""], ["aaaaaaaa aaaaaaaa"]])
def test_many_titles_have_the_features_that_each_has_as_a_text(titles: list[str]) -> None:
    found = counted(titles)
    together, apart = found.by_word @ found.features, term_counts(titles)
    assert together.shape == apart.shape
    assert np.abs(together - apart).max() < 1e-6
    assert {*found.words} == {word for title in titles for word in words(title)}
    assert len(found.words) == len({*found.words})
