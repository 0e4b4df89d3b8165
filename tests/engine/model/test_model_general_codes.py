from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.model import fields, is_general, made_specific
from tests.engine.model.training_data import answers, learned

CODES = np.array(["45000000", "45233140", "45261900", "90000000", "90910000", "92000000"])


def test_divisions_and_segments_are_general_and_nothing_else_is() -> None:
    assert is_general("cpv", "45000000")
    assert is_general("unspsc", "72000000")
    assert not is_general("cpv", "45200000")
    assert not is_general("psc", "9900")


def test_a_field_has_the_codes_below_its_general_code() -> None:
    found = [(own, below.tolist()) for own, below in fields("cpv", CODES)]
    assert found == [(0, [1, 2]), (3, [4])]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([0.6, 0.2, 0.1, 0.0, 0.1, 0.0], [0.2, 0.4667, 0.2333, 0.0, 0.1, 0.0]),
        ([0.1, 0.4, 0.1, 0.2, 0.2, 0.0], [0.1, 0.4, 0.1, 0.2, 0.2, 0.0]),
        ([0.9, 0.001, 0.001, 0.0, 0.0, 0.098], [0.9, 0.001, 0.001, 0.0, 0.0, 0.098]),
    ],
    ids=["a general code first", "a specific code first", "no evidence for a specific code"],
)
def test_a_general_code_passes_its_share_on_to_the_codes_below_it(
    before: list[float], after: list[float]
) -> None:
    shares = np.array([before, before])
    assert made_specific(shares, fields("cpv", CODES)) == pytest.approx(
        np.array([after, after]), abs=1e-4
    )


def test_buyers_who_give_a_division_only_do_not_make_the_answers_general() -> None:
    texts = ["asphalt kerbs", "road paving", "roof tiles", "roof gutters"] * 15
    codes = ["45000000", "45233140", "45000000", "45261900"] * 15
    model = learned(texts, codes).model
    assert answers(model, ["asphalt road", "tiles gutters"]) == [["45233140"], ["45261900"]]


def test_a_history_of_nothing_but_divisions_is_answered_with_divisions() -> None:
    model = learned(["asphalt road", "window cleaning"] * 30, ["45000000", "90000000"] * 30).model
    assert answers(model, ["asphalt kerbs", "cleaning"]) == [["45000000"], ["90000000"]]
