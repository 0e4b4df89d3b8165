from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pipeline.engine.model.arrays import Floats
from pipeline.engine.model.products import blocks, rounded
from pipeline.engine.model.prototypes import Memory, unit


@pytest.fixture
def memory() -> Memory:
    vectors = unit(np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32))
    return Memory(rounded(vectors), np.arange(300) % 7, np.ones(300, np.float32))


def mixed(memory: Memory, hidden: Floats, weight: float) -> Floats:
    shares = np.full((len(hidden), 10), 0.1, np.float32)
    memory.mix(shares, hidden, weight)
    return shares


def test_the_codes_of_the_nearest_prototypes_get_their_part_of_the_shares(memory: Memory) -> None:
    whole, part = (mixed(memory, memory.vectors.rows()[:20], weight) for weight in (1, 0.3))
    assert whole.sum(axis=1) == pytest.approx(1, abs=1e-4)
    assert (whole.argmax(axis=1) == memory.labels[:20]).mean() > 0.9
    assert whole[:, 7:].any() == 0
    assert part == pytest.approx(0.07 + 0.3 * whole, abs=1e-6)


def test_far_prototypes_do_not_count(memory: Memory) -> None:
    cosines = memory.vectors(memory.vectors.rows()[:1])[0]
    found = mixed(replace(memory, labels=np.where(cosines > 0, 0, 1)), memory.vectors.rows()[:1], 1)
    assert found[0, :2] == pytest.approx([1, 0], abs=1e-6)


def test_a_text_gets_the_same_shares_alone_and_in_another_block(memory: Memory) -> None:
    texts = np.random.default_rng(1).standard_normal((1_000, 8)).astype(np.float32)
    together = mixed(memory, texts, 0.3)
    assert len([*blocks(memory.vectors(texts))]) > 1
    for place in range(0, 1_000, 99):
        assert mixed(memory, texts[[place]], 0.3)[0].tolist() == together[place].tolist()
