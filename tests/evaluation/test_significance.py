from __future__ import annotations

from decimal import Decimal
from math import comb

import pytest

from pipeline.evaluation.labels import EXACT
from pipeline.evaluation.scores import Scores
from pipeline.evaluation.significance import Comparison, Difference, compare
from tests.evaluation.labels import answer, scored


def subject(right: str) -> Scores:
    """Return the scores of a subject that is right where a 1 stands."""
    answers = [answer("45000000" if mark == "1" else "39000000") for mark in right]
    return scored(answers, ["45000000"] * len(right))


def differing(only_a: int, only_b: int, rows: int = 200) -> Difference:
    return Difference(EXACT, 1, rows, only_a, only_b)


def test_rows_are_compared_one_by_one() -> None:
    first = compare(subject("1100110"), subject("1010111")).first
    assert (first.depth, first.top, first.rows) == (EXACT, 1, 7)
    assert (first.only_a, first.only_b) == (1, 2)
    assert first.value == pytest.approx(1 / 7)


def test_mcnemars_test_is_exact() -> None:
    # 3 of 15 rows or fewer on one side, or on the other
    tail = sum(comb(15, k) for k in range(4)) / 2**15
    assert differing(3, 12).p == pytest.approx(2 * tail)
    assert differing(12, 3).p == differing(3, 12).p
    assert differing(0, 0).p == 1.0


def test_the_interval_is_that_of_agresti_and_min() -> None:
    low, high = differing(10, 52).interval
    middle, half = 42 / 202, 1.959964 * (63 - 42**2 / 202) ** 0.5 / 202
    assert (low, high) == pytest.approx((middle - half, middle + half))
    low, high = differing(0, 0, rows=20).interval
    assert low < 0 < high


def test_turning_subjects_round_turns_the_interval_round() -> None:
    low, high = differing(10, 52).interval
    assert differing(52, 10).interval == pytest.approx((-high, -low))


def test_who_is_better_is_decided_by_the_test() -> None:
    assert Comparison([differing(2, 12)]).better == "b"
    assert Comparison([differing(12, 2)]).better == "a"
    assert Comparison([differing(4, 8)]).better is None
    assert Comparison([differing(0, 0)]).better is None


def test_a_right_code_more_costs_what_all_answers_cost_by_the_codes_gained() -> None:
    usd = Decimal("0.021")
    assert Comparison([differing(10, 52)], usd, "b").usd_per_code == Decimal("0.0005")
    assert Comparison([differing(52, 10)], usd, "a").usd_per_code == Decimal("0.0005")
    assert Comparison([differing(52, 10)], usd, "b").usd_per_code is None
    assert Comparison([differing(10, 10)], usd, "b").usd_per_code is None
    assert Comparison([differing(10, 52)]).usd_per_code is None
