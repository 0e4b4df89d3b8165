from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.tables import ArrowReader, ArrowWriter, NewColumn, Reader, Writer, open_reader
from pipeline.tables.arrow import with_metadata
from pipeline.tables.parquet import ParquetWriter
from tests.tables.rewriting import CODE

INDEXES = [pd.RangeIndex(10, 0, -2, name="id"), pd.RangeIndex(5), pd.RangeIndex(7, 12)]


def write_head(reader: Reader, writer: Writer, rows: int) -> None:
    for batch in reader.batches():
        head = batch.head(rows)
        writer.write(head, [NewColumn("cpv_code", pa.string(), [None] * len(head.texts))])
    writer.close({"total": "1"})


def frame(index: pd.RangeIndex) -> pd.DataFrame:
    return pd.DataFrame({"a": list("vwxyz")}, index=index)


@pytest.mark.parametrize("rows", [0, 2, 5])
@pytest.mark.parametrize("index", INDEXES)
def test_the_first_rows_of_a_table_keep_their_range_index(index: pd.RangeIndex, rows: int) -> None:
    reader = ArrowReader(pa.Table.from_pandas(frame(index)), ["a"])
    writer = ArrowWriter(reader.schema, [CODE])
    write_head(reader, writer, rows)
    assert writer.table.to_pandas().index.equals(index[:rows])
    assert writer.table.to_pandas().index.name == index.name


@pytest.mark.parametrize("rows", [0, 2, 5])
@pytest.mark.parametrize("index", INDEXES)
def test_the_first_rows_of_a_file_keep_their_range_index(
    tmp_path: Path, index: pd.RangeIndex, rows: int
) -> None:
    frame(index).to_parquet(tmp_path / "in.parquet")
    reader = open_reader(tmp_path / "in.parquet", ["a"])
    writer = ParquetWriter(tmp_path / "out.parquet", reader.schema, [CODE], ())
    write_head(reader, writer, rows)
    assert pd.read_parquet(tmp_path / "out.parquet").index.equals(index[:rows])


@pytest.mark.parametrize(
    "notes",
    [
        b"{",
        b"[]",
        b"\xff",
        b'{"index_columns": null}',
        b'{"index_columns": ["a", {"kind": "range"}]}',
        b'{"index_columns": [{"kind": "range", "start": 0, "stop": 5, "step": 0}]}',
        b'{"index_columns": [{"kind": "range", "start": 0, "stop": 1, "step": 1}]}',
        b'{"index_columns": ["a", {"kind": "serialized"}]}',
    ],
)
def test_other_notes_stay_as_they_are(notes: bytes) -> None:
    metadata = {b"pandas": notes, b"k": b"v"}
    assert with_metadata(metadata, {}, 2) == metadata


def test_nothing_is_noted_where_nothing_was() -> None:
    assert with_metadata(None, {}, 2) == {}
    assert with_metadata({b"k": b"v"}, {}, 2) == {b"k": b"v"}


def test_only_the_end_of_the_range_changes() -> None:
    table = pa.Table.from_pandas(frame(INDEXES[0]))
    before = json.loads(table.schema.metadata[b"pandas"])
    after = json.loads(with_metadata(table.schema.metadata, {}, 3)[b"pandas"])
    before["index_columns"][0]["stop"] = 4
    assert after == before


def test_a_whole_file_keeps_its_notes_byte_for_byte(tmp_path: Path) -> None:
    frame(INDEXES[0]).to_parquet(tmp_path / "in.parquet")
    reader = open_reader(tmp_path / "in.parquet", ["a"])
    writer = ParquetWriter(tmp_path / "out.parquet", reader.schema, [CODE], ())
    write_head(reader, writer, 5)
    files = (tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert len({pq.read_schema(file).metadata[b"pandas"] for file in files}) == 1
