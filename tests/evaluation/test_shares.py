from __future__ import annotations

import pytest

from pipeline.evaluation.shares import Share


@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"),
    [
        (82, 200, 0.3442, 0.4792),  # Wilson's score interval, worked out by hand
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
    ],
)
def test_the_interval_is_wilsons(hits: int, rows: int, low: float, high: float) -> None:
    share = Share(hits, rows)
    assert share.interval == pytest.approx((low, high), abs=5e-5)
    assert share.interval[0] <= share.value <= share.interval[1]


def test_of_no_rows_nothing_is_known() -> None:
    assert Share(0, 0).value == 0
    assert Share(0, 0).interval == (0, 1)
