from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.errors import SettingsError
from tests.evaluation.labels import answer, evaluation, scored

LABELS = ["45233140"] * 100
RIGHT = [place < 60 or place % 2 == 0 for place in range(100)]  # 60 sure ones, then every second
ANSWERS = [
    answer("45233140" if right else "39130000", confidence=0.99 - place / 200)
    for place, right in enumerate(RIGHT)
]


def test_the_most_confident_rows_that_reach_an_accuracy_can_go_through() -> None:
    found = evaluation(("engine", scored(ANSWERS, LABELS))).coverage((0.9, 0.8))
    assert found["rows"].tolist() == [75, 100]
    for line in found.to_dict("records"):
        least = line["min_confidence"]
        taken = [right for right, one in zip(RIGHT, confidences(), strict=True) if one >= least]
        assert len(taken) == line["rows"] == 100 * line["share"]
        assert sum(taken) / len(taken) == line["right"] >= line["accuracy"]


def confidences() -> list[float]:
    return [one.matches[0].confidence for one in ANSWERS]  # type: ignore[union-attr]


def test_an_accuracy_that_no_ten_rows_reach_has_none_and_each_subject_has_its_line() -> None:
    wrong = scored([answer("39130000")] * 100, LABELS)
    found = evaluation(("engine", scored(ANSWERS, LABELS)), ("mine", wrong)).coverage(0.95)
    assert found["subject"].tolist() == ["engine", "mine"]
    assert found["rows"].tolist() == [67, 0]
    assert pd.isna(found["min_confidence"][1])
    assert found["right"][0] == pytest.approx(0.95, abs=0.01)


def test_fewer_than_ten_rows_show_no_accuracy() -> None:
    few = [
        answer("45233140" if place < 9 else "39130000", confidence=0.99 - place / 200)
        for place in range(100)
    ]
    assert evaluation(("engine", scored(few, LABELS))).coverage(0.95)["rows"].tolist() == [0]


@pytest.mark.parametrize("accuracy", [90, [0.9, 1.01], "0.9", True])
def test_an_accuracy_that_is_not_a_fraction_is_refused(accuracy: Any) -> None:
    found = evaluation(("engine", scored(ANSWERS, LABELS)))
    with pytest.raises(SettingsError, match=r"must be a fraction from 0 to 1, such as 0\.5\.$"):
        found.coverage(accuracy)


def test_an_accuracy_may_be_a_number_of_numpy() -> None:
    half: Any = np.float32(0.5)
    found = evaluation(("engine", scored(ANSWERS, LABELS))).coverage(half)
    assert found["rows"].tolist() == [100]
