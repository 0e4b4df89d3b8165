"""Products of vectors and rows: the same alone and in a batch, on any processor."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.matrices import FEW, IntegerRows, rounded

RANDOM = np.random.default_rng(0)
VECTORS = RANDOM.standard_normal((80, 128), dtype=np.float32)


@pytest.mark.parametrize("count", [3, 64, 300, 1_100])
def test_a_vector_has_the_same_products_in_a_batch_of_any_size(count: int) -> None:
    multiply = rounded(RANDOM.standard_normal((count, 128), dtype=np.float32))
    whole = multiply(VECTORS)
    assert whole == pytest.approx(VECTORS @ multiply.rows().T, abs=0.02)
    for number in (0, 1, 2, 3, 7, FEW, FEW + 1, 64, 65):
        for at in (0, 1, 5):
            some = multiply(VECTORS[at : at + number])
            assert some.tobytes() == whole[at : at + number].tobytes()
            assert some.flags.c_contiguous


@pytest.mark.parametrize("scale", [1, 1 / 18], ids=["bytes", "four bits"])
def test_the_order_in_which_products_are_added_does_not_matter(scale: float) -> None:
    rows = RANDOM.choice([-1, 1], (70, 128)) * RANDOM.uniform(0.9, 1, (70, 128))
    aligned = rows[:40].astype(np.float32)  # their sums are as large as any
    in_bytes, order = rounded(rows.astype(np.float32)), RANDOM.permutation(128)
    multiply = IntegerRows(np.rint(in_bytes.levels * scale).astype(np.float32), in_bytes.scales)
    turned = IntegerRows(multiply.levels[:, order], multiply.scales)
    for vectors in (VECTORS, aligned, np.sign(aligned), 1e-9 * aligned):
        assert turned(vectors[:, order]).tobytes() == multiply(vectors).tobytes()


def test_a_vector_or_row_of_zeros_has_products_of_zero() -> None:
    rows = np.stack([np.zeros(128, np.float32), VECTORS[0]])
    found = rounded(rows)(np.stack([VECTORS[1], np.zeros(128), 1e-44 * VECTORS[1]]).astype("f4"))
    assert found[0, 1]
    assert not found[:, 0].any()
    assert not found[1:].any()
