from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.matrices import largest


@pytest.mark.parametrize(("width", "count"), [(7, 7), (40, 3), (1_000, 10), (1_003, 50)])
def test_the_largest_values_come_highest_first_and_of_equals_the_first(
    width: int, count: int
) -> None:
    random = np.random.default_rng(width)
    rows = random.integers(0, width, (200, width)).astype(np.float32)
    row, column, values = largest(rows, count)
    for number, own in enumerate(rows):
        found = row == number
        order = np.argsort(-own, kind="stable")
        wanted = order[own[order] >= own[order[count - 1]]]
        assert column[found].tolist() == wanted.tolist()
        assert values[found].tolist() == own[wanted].tolist()
