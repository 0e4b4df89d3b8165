from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError
from pipeline.tables import ArrowReader, open_reader
from pipeline.tables.table import BATCH_CHARS
from tests.tables.rewriting import CODE, rewrite

HUGE = "x" * 100_000


def not_utf8(values: pa.Array) -> pa.Array:
    """Return bytes that some writers take for text."""
    return pa.Array.from_buffers(pa.string(), len(values), values.buffers())


def test_a_small_file_that_names_a_huge_value_often_comes_in_small_batches(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    column = pa.array([HUGE]).dictionary_encode().take([0] * 3_000)
    pq.write_table(pa.table({"a": column}), path, store_schema=False)
    assert pq.read_schema(path).field("a").type == pa.string()
    assert path.stat().st_size < 20_000
    rows = 0
    for batch in open_reader(path, ["a"]).batches():
        assert batch.to_arrow().nbytes <= BATCH_CHARS
        assert set(batch.texts) == {HUGE}
        rows += len(batch.texts)
    assert rows == 3_000


def test_a_dictionary_in_memory_comes_in_small_batches() -> None:
    table = pa.table(
        {"a": pa.array([HUGE]).dictionary_encode().take([0] * 1_000), "n": range(1_000)}
    )
    batches = list(ArrowReader(table, ["a"]).batches())
    assert max(sum(map(len, batch.texts)) for batch in batches) <= BATCH_CHARS
    assert pa.Table.from_batches([batch.to_arrow() for batch in batches]).equals(table)


def test_a_row_is_never_cut() -> None:
    table = pa.table({"a": ["x" * (BATCH_CHARS + 1), "y", None]})
    batches = list(ArrowReader(table, ["a"]).batches())
    assert [text[:1] for batch in batches for text in batch.texts] == ["x", "y", ""]


def test_a_big_dictionary_does_not_make_small_batches() -> None:
    values = pa.array([HUGE + str(place) for place in range(200)])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 50, pa.int32()), values)
    (batch,) = ArrowReader(pa.table({"a": column}), ["a"]).batches()
    assert len(batch.texts) == 100


def test_text_that_is_not_utf8_in_memory_is_an_error_that_names_column_and_rows() -> None:
    column = pa.chunked_array([pa.array(["x"] * 1_024), not_utf8(pa.array([b"y", b"\xff"]))])
    batches = ArrowReader(pa.table({"a": column}), ["a"]).batches()
    next(batches)
    with pytest.raises(InputError) as caught:
        next(batches)
    assert caught.value.message.startswith(
        "The column 'a' has a value that is not UTF-8 text, in one of the rows 1,025 to 1,026: "
    )
    assert caught.value.hint == "Fix the table, or choose another column: --text-column NAME."


BINARY = [
    pa.array([" Straße\n", "", None], pa.string()).cast(kind)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view())
]


@pytest.mark.parametrize("column", [*BINARY, BINARY[0].dictionary_encode()])
def test_bytes_that_are_utf8_are_text(column: pa.Array) -> None:
    (batch,) = ArrowReader(pa.table({"a": column}), ["a"]).batches()
    assert batch.texts == ["Straße", "", ""]
    assert batch.to_arrow().column(0).equals(column)


def test_text_that_an_older_writer_stored_as_bytes_stays_so(tmp_path: Path) -> None:
    table = pa.table({"description": pa.array([b"roads", None], pa.binary())})
    pq.write_table(table, tmp_path / "in.parquet", store_schema=False)
    reader = open_reader(tmp_path / "in.parquet", ["description"])
    assert [batch.texts for batch in reader.batches()] == [["roads", ""]]
    rewrite(reader, tmp_path / "out.parquet", [["1"]] * 2, "parquet", [CODE])
    assert pq.read_table(tmp_path / "out.parquet", columns=["description"]).equals(table)
