from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pipeline.engine.model.sparse_rows import SparseRows, summed

PLACES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 9)), max_size=40)


def matrix(places: list[tuple[int, int, int]]) -> SparseRows:
    rows, columns, values = (np.array(part) for part in zip(*[(0, 0, 0), *places], strict=True))
    return summed(values[1:].astype(np.float32), rows[1:], columns[1:], 5)


def as_scipy(rows: SparseRows) -> sparse.csr_matrix:
    return sparse.csr_matrix((rows.values, rows.columns, rows.ends), (len(rows), 7))


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
