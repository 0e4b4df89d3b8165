from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pipeline.engine.model.matrices import (
    FEW,
    TOGETHER,
    Floats,
    IntegerRows,
    Ints,
    SparseRows,
    highest,
    rounded,
    summed,
    weighted_sums,
)

PLACES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 9)), max_size=40)


def matrix(places: list[tuple[int, int, int]]) -> SparseRows:
    rows, columns, values = (np.array(part) for part in zip(*[(0, 0, 0), *places], strict=True))
    return summed(values[1:].astype(np.float32), rows[1:], columns[1:], 5)


def as_scipy(rows: SparseRows, width: int = 7) -> sparse.csr_matrix:
    return sparse.csr_matrix((rows.values, rows.columns, rows.ends), (len(rows), width))


@given(PLACES)
def test_values_at_the_same_place_are_added(places: list[tuple[int, int, int]]) -> None:
    found = matrix(places)
    dense = np.zeros((5, 7))
    for row, column, value in places:
        dense[row, column] += value
    assert as_scipy(found).toarray().tolist() == dense.tolist()
    assert len(found) == 5
    assert found.values.dtype == np.float32
    assert len(found.values) == len({place[:2] for place in places})
    assert found.rows.tolist() == sorted(found.rows.tolist())


@given(PLACES, st.lists(st.integers(0, 4), max_size=8))
def test_rows_are_selected_in_the_order_asked(
    places: list[tuple[int, int, int]], wanted: list[int]
) -> None:
    found = matrix(places)
    some = found.select(np.array(wanted, np.intp))
    assert as_scipy(some).toarray().tolist() == as_scipy(found).toarray()[wanted].tolist()


LENGTHS = st.lists(st.integers(0, 40) | st.sampled_from([TOGETHER - 1, TOGETHER + 1]), max_size=30)


@given(LENGTHS)
def test_a_row_is_summed_as_if_it_were_alone_whatever_the_lengths_of_the_others(
    lengths: list[int],
) -> None:
    random = np.random.default_rng(len(lengths))
    count = sum(lengths)
    dense = random.standard_normal((50, 12)).astype(np.float32)
    values = random.standard_normal(count).astype(np.float32)
    ends = np.concatenate([[0], np.cumsum(np.array(lengths, np.intp))])
    rows = SparseRows(values, random.integers(0, 50, count), ends)
    asked: list[int] = []

    def read(which: Ints) -> Floats:
        asked.append(len(which))
        found: Floats = dense[which]
        return found

    sums = weighted_sums(rows, read, 12)
    assert max(asked, default=0) <= max([TOGETHER, *lengths])
    expected = as_scipy(rows, 50) @ dense
    assert np.allclose(sums, expected, atol=1e-4)
    for row in range(len(rows)):
        alone = weighted_sums(rows.select(np.array([row])), dense.__getitem__, 12)
        assert np.array_equal(sums[row], alone[0])


def test_a_few_short_rows_are_read_at_once() -> None:
    read: list[int] = []

    def zeros(which: Ints) -> Floats:
        read.append(len(which))
        return np.zeros((len(which), 3), np.float32)

    rows = SparseRows(np.ones(10, np.float32), np.arange(10), np.array([0, 1, 1, 3, 6, 10]))
    weighted_sums(rows, zeros, 3)
    assert read == [16]  # four rows with values, each as long as the longest


@pytest.mark.parametrize(("width", "count"), [(7, 7), (40, 3), (1_000, 10), (1_003, 50)])
def test_the_largest_values_come_highest_first_and_of_equals_the_first(
    width: int, count: int
) -> None:
    random = np.random.default_rng(width)
    rows = random.integers(0, width, (200, width)).astype(np.float32)
    places, values = highest(rows, count)
    wanted = np.argsort(-rows, axis=1, kind="stable")[:, :count]
    assert places.tolist() == wanted.tolist()
    assert values.tolist() == np.take_along_axis(rows, wanted, 1).tolist()


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
