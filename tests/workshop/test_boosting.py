"""What boosted trees learn, and that their sums do not depend on the batch."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.calibration import probability
from workshop.boosting import boosted

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(4_000, 6)).astype(np.float32)
EVEN = np.ones(len(ROWS))


def test_trees_learn_a_rule_that_no_single_column_tells() -> None:
    right = (ROWS[:, 1] > 0) ^ (ROWS[:, 4] > 0.3)
    trees = boosted(ROWS[:3_000], right[:3_000], EVEN[:3_000])
    said = trees.odds(ROWS[3_000:]) > 0
    assert (said == right[3_000:]).mean() > 0.9
    again = boosted(ROWS[:3_000], right[:3_000], EVEN[:3_000])
    assert again.leaves.tolist() == trees.leaves.tolist()


def test_the_odds_are_those_of_the_outcome() -> None:
    right = RANDOM.random(len(ROWS)) < np.where(ROWS[:, 2] > 0, 0.8, 0.1)
    alike = ROWS[:, [2] * 6]  # so that every tree sees the column that counts
    chances = probability(boosted(alike, right, EVEN).odds(alike))
    assert chances[ROWS[:, 2] > 0.1].mean() == pytest.approx(0.8, abs=0.03)
    assert chances[ROWS[:, 2] < -0.1].mean() == pytest.approx(0.1, abs=0.03)


def test_rows_of_little_weight_teach_little() -> None:
    up = ROWS[:, 3] > 0
    right = np.concatenate([up[:2_000], ~up[2_000:]])
    weights = np.repeat([1.0, 0.01], 2_000)
    assert ((boosted(ROWS, right, weights).odds(ROWS) > 0) == up).mean() > 0.95


def test_columns_that_are_constant_say_nothing() -> None:
    same = np.ones((100, 3), np.float32)
    right = np.arange(100) % 4 == 0
    odds = boosted(same, right, np.ones(100)).odds(same)
    assert probability(odds) == pytest.approx(np.full(100, 0.25), abs=0.01)


def test_a_row_has_the_same_odds_alone_and_in_any_batch() -> None:
    trees = boosted(ROWS, ROWS[:, 0] + ROWS[:, 5] > 0, EVEN)
    together = trees.odds(ROWS)
    alone = [float(trees.odds(ROWS[row : row + 1])[0]) for row in range(0, len(ROWS), 97)]
    assert alone == together[::97].tolist()
