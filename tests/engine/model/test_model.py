from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.acceptance import (
    Calibration,
    calibrate,
    calibration_error,
    evidence,
)
from pipeline.engine.model.encoder import blend, encode_batch
from pipeline.engine.model.matrices import Bools, Floats
from pipeline.engine.model.model import fields, gather, is_general, made_specific
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


BLENDED = ("polder", "45240000"), ("asphalt", "45233140")

START = Calibration(np.array([-2.0, 1.0, 0.5, 0.0]))

DOUBTFUL = evidence(np.array([0.1]), np.array([0.05]), np.array([1.0]))


@pytest.mark.parametrize("labels", [[3, 1, 3, 2, 0], [1, 3, 2, 3, 0], [3, 3, 2, 1, 0]])
def test_a_repeated_text_has_its_most_frequent_code(labels: list[int]) -> None:
    found = gather(np.array([9, 9, 9, 9, 5], np.uint64), np.array(labels))
    assert found.hashes.tolist() == [5, 9]
    assert (found.labels.tolist(), found.usual.tolist()) == ([0, 3], [1, 2])
    assert found.seen.tolist() == [1, 4]


def test_of_codes_that_a_repeated_text_has_as_often_the_first_is_usual() -> None:
    found = gather(np.full(5, 9, np.uint64), np.array([4, 2, 3, 3, 2]))
    assert (found.labels.tolist(), found.usual.tolist()) == ([2], [2])


def test_full_confidence_is_in_the_last_bin_of_the_calibration_error() -> None:
    sure, right = np.array([1.0, 0.95, 0.85]), np.array([False, True, True])
    assert calibration_error(sure, right) == pytest.approx((0.95 + 0.15) / 3)


def test_in_a_blend_an_unfamiliar_text_is_for_the_other_model() -> None:
    """A tenth of its features is known by chance."""
    own, other = (learned([word] * 40, [code] * 40).model.own for word, code in BLENDED)
    both = blend(own, other, 0.5)
    shares, _ = both.shares(encode_batch(("asphalt", "polder")))
    assert both.codes.tolist() == ["45240000", "45233140"]
    assert shares == pytest.approx(np.array([[0.0, 1.0], [0.5, 0.5]]))


def answered(number: int) -> tuple[Floats, Bools]:
    """Return the evidence of some answers of which, whatever it is, three in four are right."""
    shares = np.linspace(0.2, 0.9, number)
    return evidence(shares, shares / 4, np.ones(number)), np.arange(number) % 4 > 0


def test_of_few_answers_what_was_believed_before_is_not_given_up() -> None:
    before = START.confidence(DOUBTFUL)
    after = calibrate(*answered(2), START).confidence(DOUBTFUL)
    assert abs(after - before) < 0.02
    assert calibrate(*answered(2)).confidence(DOUBTFUL) > 0.1


def test_doubtful_answers_say_little_about_sure_ones() -> None:
    shares = np.linspace(0.02, 0.2, 11)
    least_likely_right = np.arange(11) < 2
    after = calibrate(evidence(shares, shares / 2, np.ones(11)), least_likely_right, START)
    sure = evidence(np.array([0.9]), np.array([0.05]), np.array([1.0]))
    assert after.confidence(sure) > START.confidence(sure) - 0.1


def test_many_answers_decide_whatever_was_believed_before() -> None:
    seen, right = answered(4_000)
    assert calibrate(seen, right, START).confidence(seen) == pytest.approx(0.75, abs=0.02)
    assert calibrate(seen, right).confidence(seen) == pytest.approx(0.75, abs=0.02)
