from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.int4 import pack, unpack


@pytest.mark.parametrize("width", [1, 2, 7, 128])
def test_no_weight_is_off_by_more_than_half_a_level(width: int) -> None:
    rows = np.random.default_rng(1).normal(0, 3, (200, width)).astype(np.float32)
    packed, scales = pack(rows)
    assert packed.nbytes == 200 * ((width + 1) // 2)
    bound = np.abs(rows).max(axis=1) / 7 * 0.505  # a scale in 16 bits is itself off a little
    assert (
        np.abs(unpack(packed, width) * scales.astype(np.float32)[:, None] - rows).max(axis=1)
        <= bound
    ).all()


def test_nothing_stays_nothing() -> None:
    packed, _ = pack(np.zeros((2, 4), np.float32))
    assert not unpack(packed, 4).any()
