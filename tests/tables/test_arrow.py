from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings

from pipeline.errors import InputError
from pipeline.tables import NewColumn
from pipeline.tables.arrow import ArrowReader, ArrowWriter
from pipeline.tables.arrow_texts import column_texts
from pipeline.tables.table import BATCH_ROWS
from pipeline.tables.texts import join_texts
from tests.tables.arrow_tables import arrow_tables
from tests.tables.rewriting import CODE


def written(reader: ArrowReader, metadata: dict[str, str] | None = None) -> pa.Table:
    writer = ArrowWriter(reader.schema, [CODE])
    for batch in reader.batches():
        writer.write(batch, [NewColumn("cpv_code", pa.string(), ["1"] * len(batch.texts))])
    writer.close(metadata or {})
    return writer.table


@given(table=arrow_tables())
def test_columns_types_and_metadata_of_every_kind_stay(table: pa.Table) -> None:
    result = written(ArrowReader(table, ["description"]))
    assert result.select(range(table.num_columns)).equals(table)
    assert list(result.schema)[:-1] == list(table.schema)
    assert (result.schema.metadata or None) == table.schema.metadata
    assert result.column("cpv_code").to_pylist() == ["1"] * table.num_rows


@settings(max_examples=50, deadline=None)
@given(table=arrow_tables())
def test_each_row_has_its_text(table: pa.Table) -> None:
    batches = list(ArrowReader(table, ["description"]).batches())
    texts = [text for batch in batches for text in batch.texts]
    cells = table.column("description").to_pylist()
    assert texts == [join_texts([cell]) for cell in cells]


def test_without_text_columns_each_row_has_an_empty_text() -> None:
    (batch,) = ArrowReader(pa.table({"a": ["x", "y"]}), []).batches()
    assert batch.texts == ["", ""]


def test_metadata_are_added_and_replaced_by_name() -> None:
    table = pa.table({"a": ["x"]}).replace_schema_metadata({"total": "1", "owner": "us"})
    result = written(ArrowReader(table, ["a"]), {"total": "2", "more": "é"})
    assert result.schema.metadata == {b"total": b"2", b"owner": b"us", b"more": "é".encode()}
    assert table.schema.metadata == {b"total": b"1", b"owner": b"us"}


def test_a_table_is_read_as_often_as_asked_in_batches_of_bounded_rows() -> None:
    rows = 10 * BATCH_ROWS + 1
    table = pa.chunked_array([[str(place) for place in range(rows)]])
    reader = ArrowReader(pa.table({"a": table}), ["a"])
    for _ in range(2):
        batches = list(reader.batches())
        assert [len(batch.texts) for batch in batches] == [BATCH_ROWS] * 10 + [1]
        assert [batch.texts[0] for batch in batches[:2]] == ["0", str(BATCH_ROWS)]


def test_a_table_of_many_small_pieces_comes_in_whole_batches() -> None:
    pieces = [pa.array([str(place % 7)]).dictionary_encode() for place in range(BATCH_ROWS + 2)]
    reader = ArrowReader(pa.table({"a": pa.chunked_array(pieces)}), ["a"])
    batches = list(reader.batches())
    assert [len(batch.texts) for batch in batches] == [BATCH_ROWS, 2]
    assert [text for batch in batches for text in batch.texts] == [
        str(place % 7) for place in range(BATCH_ROWS + 2)
    ]


def test_the_head_of_a_batch_is_its_first_rows() -> None:
    (batch,) = ArrowReader(pa.table({"a": ["x", "y", "z"]}), ["a"]).batches()
    head = batch.head(2)
    assert head.texts == ["x", "y"]
    assert head.to_arrow().to_pydict() == {"a": ["x", "y"]}


def test_an_aborted_table_stays_empty() -> None:
    reader = ArrowReader(pa.table({"a": ["x"]}), ["a"])
    writer = ArrowWriter(reader.schema, [CODE])
    for batch in reader.batches():
        writer.write(batch, [NewColumn("cpv_code", pa.string(), ["1"])])
    writer.abort()
    assert writer.table.num_rows == 0


def test_values_that_are_not_text_have_a_text() -> None:
    assert column_texts(pa.array([1, None])) == ["1", None]
    assert column_texts(pa.array(["a", None, "a"]).dictionary_encode()) == ["a", None, "a"]
    assert column_texts(pa.array(["é"], pa.large_string())) == ["é"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.binary(4)),
        pa.map_(pa.string(), pa.string()),
        pa.binary(4),
        pa.uuid(),
    ],
)
def test_a_text_column_without_text_is_refused(kind: pa.DataType) -> None:
    table = pa.table({"a": pa.nulls(1, kind), "b": ["x"]})
    with pytest.raises(InputError) as caught:
        ArrowReader(table, ["b", "a"])
    assert caught.value.message == f"The column 'a' has the type {kind}, not text."
    assert caught.value.hint == "Choose a column with text: --text-column NAME."


def test_a_missing_or_doubled_text_column_is_refused() -> None:
    table = pa.Table.from_arrays([pa.array(["x"])] * 3, names=["a", "b", "b"])
    with pytest.raises(InputError, match=r"The table has no column 'c'\. Its columns: 'a', 'b'"):
        ArrowReader(table, ["c"])
    with pytest.raises(InputError, match="The table has 2 columns named 'b'"):
        ArrowReader(table, ["b"])


def test_a_table_in_memory_needs_no_fingerprint() -> None:
    assert ArrowReader(pa.table({"a": ["x"]}), ["a"]).fingerprint() == ""
