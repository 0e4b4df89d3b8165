"""Products of vectors and rows: the same alone and in a batch, on any processor."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.products import Products


@pytest.mark.parametrize("rows", [3, 40, 64, 300, 1_100])
def test_a_vector_has_the_same_products_in_a_batch_of_any_size(rows: int) -> None:
    random = np.random.default_rng(0)
    weights = random.standard_normal((rows, 128), dtype=np.float32)
    hidden = random.standard_normal((80, 128), dtype=np.float32)
    multiply = Products(weights)
    whole = multiply(hidden)
    assert whole == pytest.approx(hidden @ weights.T, abs=1e-4)
    for count in (1, 2, 3, 7, 16, 17, 65):
        for _ in range(3):
            assert multiply(hidden[5 : 5 + count]).tobytes() == whole[5 : 5 + count].tobytes()
    assert multiply(hidden[:0]).shape == (0, rows)
