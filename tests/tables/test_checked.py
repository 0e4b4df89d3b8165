"""What an output's format cannot hold is found while planning, before anything is bought."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import PipelineError
from pipeline.settings import Format
from pipeline.tables import checked, open_reader
from tests.tables.rewriting import rewrite

FAR = pa.array([2**61], pa.timestamp("us"))
NO_TEXT = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(bytes((0, 0, 0, 0, 1, 0, 0, 0))), pa.py_buffer(b"\xff")]
)


@pytest.mark.parametrize(
    ("column", "output_format", "message"),
    [
        (FAR, "csv", "out of range"),
        (FAR, "jsonl", "out of range"),
        (FAR, "xlsx", "out of range"),
        (NO_TEXT, "csv", "invalid start byte"),
        (pa.array([[float("nan")]]), "jsonl", "NaN is not a JSON value"),
        (pa.array([["x" * 40_000]]), "xlsx", "A cell cannot hold more than 32,767 characters"),
    ],
)
def test_a_value_that_cannot_be_written_is_found_before_it_is_written(
    tmp_path: Path, column: pa.Array, output_format: Format, message: str
) -> None:
    pq.write_table(pa.table({"description": ["roads"], "x": column}), tmp_path / "t.parquet")
    check_refused(tmp_path / "t.parquet", output_format, message)


@pytest.mark.parametrize("output_format", ["csv", "parquet", "xlsx"])
def test_an_unpaired_surrogate_is_found_before_it_is_written(
    tmp_path: Path, output_format: Format
) -> None:
    (tmp_path / "t.jsonl").write_bytes(b'{"description": "roads", "x": "\\ud800"}\n')
    check_refused(tmp_path / "t.jsonl", output_format, "which only JSON Lines can hold")
    reader = open_reader(tmp_path / "t.jsonl", ["description"])
    assert len(list(checked(reader.batches(), "jsonl"))) == 1


def check_refused(table: Path, output_format: Format, message: str) -> None:
    reader = open_reader(table, ["description"])
    with pytest.raises(PipelineError, match=message):
        rewrite(reader, table.with_name("out"), [("ok",)], output_format, [pa.field("c", "str")])
    with pytest.raises(PipelineError, match=message):
        list(checked(reader.batches(), output_format))
