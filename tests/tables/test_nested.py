from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pipeline.tables.nested import leaves


def leaf_values(column: pa.Array) -> list[list[Any]]:
    return [leaf.to_pylist() for leaf in leaves(column)]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int8()),
        pa.large_list(pa.int8()),
        pa.list_view(pa.int8()),
        pa.list_(pa.int8(), 2),
    ],
)
def test_a_list_is_its_values_in_the_rows_that_are_there(kind: pa.DataType) -> None:
    assert leaf_values(pa.array([[1, 2], None, [3, None]], kind)[1:]) == [[3, None]]


def test_a_map_is_its_keys_and_its_values() -> None:
    column = pa.array([[("a", 1)], None, [("b", None)]], pa.map_(pa.string(), pa.int8()))
    assert leaf_values(column) == [["a", "b"], [1, None]]
    assert leaf_values(column[2:]) == [["b"], [None]]
    assert leaf_values(column[:0]) == [[], []]


def test_a_struct_is_its_fields_and_null_where_it_is_null() -> None:
    assert leaf_values(pa.array([{"a": 1, "b": [2]}, None])) == [[1, None], [2]]


def test_a_dictionary_and_an_extension_are_their_values() -> None:
    assert leaf_values(pa.array(["x", "x"]).dictionary_encode()) == [["x", "x"]]
    assert leaf_values(pa.array(['"j"'], pa.json_(pa.string()))) == [['"j"']]


def test_plain_columns_and_unions_are_leaves() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    assert leaf_values(pa.array([1, None])) == [[1, None]]
    assert leaf_values(union) == [[1]]
