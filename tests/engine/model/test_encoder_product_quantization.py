from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.encoder import quantised, rotation


def rows(number: int, width: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.random.default_rng(1).standard_normal((number, width), dtype=np.float32)


@pytest.mark.parametrize(("columns", "error"), [(2, 0.2), (4, 0.6)])
def test_rows_come_back_nearly_as_they_were_and_nearer_with_more_bytes(
    columns: int, error: float
) -> None:
    true = rows(5_000, 16)
    kept = quantised(true, columns, np.ones(len(true)))
    assert (kept.width, kept.places.shape[1]) == (16, 16 // columns)
    off = kept.rows(np.arange(len(true))) - true
    assert np.sqrt((off**2).mean()) < error
    assert kept.rows(np.array([7, 3])).tolist() == kept.rows(np.arange(8))[[7, 3]].tolist()


def test_fewer_rows_than_typical_parts_and_rows_of_nothing_are_kept() -> None:
    true = np.zeros((3, 4), np.float32)
    true[1] = [1, 2, 3, 4]
    kept = quantised(true, 2, np.ones(3)).rows(np.arange(3))
    assert kept == pytest.approx(true, abs=0.01)


def test_errors_of_rows_mostly_cancel_in_a_sum() -> None:
    true = rows(5_000, 16)
    off = quantised(true, 4, np.ones(len(true))).rows(np.arange(len(true))) - true
    alone = np.linalg.norm(off, axis=1).mean() / np.linalg.norm(true, axis=1).mean()
    sums, errors = (each.reshape(50, 100, 16).sum(axis=1) for each in (true, off))
    together = np.linalg.norm(errors, axis=1).mean() / np.linalg.norm(sums, axis=1).mean()
    assert together < alone * 1.2


def test_a_rotation_keeps_products() -> None:
    turn, some = rotation(16), rows(10, 16)
    assert (some @ turn) @ (some @ turn).T == pytest.approx(some @ some.T, abs=1e-4)
