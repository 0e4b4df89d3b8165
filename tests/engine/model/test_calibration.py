from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.calibration import Calibration, calibrate, evidence
from pipeline.engine.model.matrices import Bools, Floats

START = Calibration(np.array([-2.0, 1.0, 0.5, 0.0]))

DOUBTFUL = evidence(np.array([0.1]), np.array([0.05]), np.array([1.0]))


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
