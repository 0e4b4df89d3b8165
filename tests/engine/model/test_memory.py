from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.prototypes import Memory, unit


@pytest.fixture
def memory() -> Memory:
    vectors = unit(np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32))
    return Memory(vectors, np.arange(300) % 7, np.ones(300, np.float32))


def test_the_codes_of_the_nearest_texts_share_what_the_memory_says(memory: Memory) -> None:
    ((rows, shares),) = memory.shares(memory.vectors[:20], 7)
    assert rows.start == 0
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-4)
    assert (shares.argmax(axis=1) == memory.labels[:20]).mean() > 0.9


def test_shares_come_in_blocks_and_are_the_same_as_alone(memory: Memory) -> None:
    texts = np.random.default_rng(1).standard_normal((1_000, 8)).astype(np.float32)
    blocks = [*memory.shares(texts, 7)]
    assert len(blocks) > 1
    for rows, shares in blocks:
        ((_, alone),) = memory.shares(texts[rows], 7)
        assert shares.tolist() == alone.tolist()
