from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pipeline.engine.model.matrices import TOGETHER, Floats, Ints, SparseRows, summed, weighted_sums

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
