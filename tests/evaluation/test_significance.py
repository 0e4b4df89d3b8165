from __future__ import annotations

from decimal import Decimal
from math import comb

import pytest

from pipeline.evaluation.metrics import EXACT, STATED
from pipeline.evaluation.significance import Comparison, Difference, Flips, compare
from tests.evaluation.labels import answer, scored
from tests.evaluation.samples import subject


def differing(only_a: int, only_b: int, rows: int = 200) -> Difference:
    return Difference(EXACT, 1, rows, only_a, only_b)


def comparison(only_a: int, only_b: int, *price: object) -> Comparison:
    return Comparison([differing(only_a, only_b)], Flips(200, 0, 0, 0), *price)  # type: ignore[arg-type]


def test_rows_are_compared_one_by_one() -> None:
    first = compare(subject("1100110"), subject("1010111")).first
    assert (first.depth, first.top, first.rows) == (STATED, 1, 7)  # no label is deeper
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


def test_swapping_the_subjects_mirrors_the_interval() -> None:
    low, high = differing(10, 52).interval
    assert differing(52, 10).interval == pytest.approx((-high, -low))


def test_the_test_decides_which_subject_is_better() -> None:
    assert comparison(2, 12).better == "b"
    assert comparison(12, 2).better == "a"
    assert comparison(4, 8).better is None
    assert comparison(0, 0).better is None


def test_each_additional_right_code_costs_the_price_of_all_answers_over_the_codes_gained() -> None:
    usd = Decimal("0.021")
    assert comparison(10, 52, usd, "b").usd_per_code == Decimal("0.0005")
    assert comparison(52, 10, usd, "a").usd_per_code == Decimal("0.0005")
    assert comparison(52, 10, usd, "b").usd_per_code is None
    assert comparison(10, 10, usd, "b").usd_per_code is None
    assert comparison(10, 52).usd_per_code is None


def test_changed_codes_are_better_worse_or_neither_as_far_as_the_label_states() -> None:
    labels = ["45000000", "45233140", "45233140", "39112000", "39112000", "03111000"]
    old = ["45233140", "45000000", "45233140", "90910000", "39112000", ""]
    new = ["45210000", "45233140", "39000000", "79000000", "39112000", "03111000"]
    a, b = (
        scored([answer(code) if code else answer() for code in codes], labels)
        for codes in (old, new)
    )
    flips = compare(a, b).flips
    assert flips == Flips(rows=6, changed=5, better=2, worse=1)
    assert flips.neither == 2
    assert flips.rate.value == pytest.approx(5 / 6)
