"""What an output's format cannot hold is found while planning, before anything is bought."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import InputError, OutputError, PipelineError
from pipeline.settings import Format
from pipeline.tables import checked, open_reader, open_writer
from pipeline.tables.arrow import ArrowReader, ArrowWriter
from pipeline.tables.table import NewColumn
from tests.tables.arrow_tables import not_utf8
from tests.tables.rewriting import CODE, rewrite

FAR = pa.array([2**61], pa.timestamp("us"))


@pytest.mark.parametrize(
    ("column", "output_format", "message"),
    [
        (FAR, "csv", "out of range"),
        (FAR, "jsonl", "out of range"),
        (FAR, "xlsx", "out of range"),
        (not_utf8(b"\xff"), "csv", "invalid start byte"),
        (pa.array([[float("nan")]]), "jsonl", "The column 'x' has a value .* not JSON compliant"),
        (pa.array([[float("nan")]]), "csv", "not JSON compliant"),
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


def listed(column: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays([0, len(column)], column)


TIMES = [
    FAR,
    FAR.cast(pa.timestamp("us", "UTC")),
    pa.array([10**8], pa.date32()),
    pa.array([0], pa.timestamp("us", "Mars/Olympus")),
    pa.array([-1], pa.time32("s")),
    FAR.dictionary_encode(),
]


@pytest.mark.parametrize(
    "column", [*TIMES, *map(listed, TIMES), pa.nulls(1, pa.month_day_nano_interval())]
)
def test_what_has_no_text_cannot_go_to_csv(tmp_path: Path, column: pa.Array) -> None:
    reader = ArrowReader(pa.table({"a": ["x"], "t": column}), ["a"])
    with pytest.raises(InputError) as caught:
        rewrite(reader, tmp_path / "o.csv", [["1"]], fields=[CODE])
    assert caught.value.message.startswith(
        "The column 't' has a value that cannot be written as text: "
    )
    assert "--output-format parquet" in caught.value.hint


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (pa.array([0], pa.timestamp("us", "Europe/Paris")), "1970-01-01 01:00:00.000000+0100"),
        (pa.array([253402300799], pa.timestamp("s", "UTC")), "9999-12-31 23:59:59Z"),
        (pa.array([-62135596800], pa.timestamp("s")), "0001-01-01 00:00:00"),
    ],
)
def test_times_that_have_a_text_go_to_csv(tmp_path: Path, column: pa.Array, text: str) -> None:
    rewrite(ArrowReader(pa.table({"t": column}), ()), tmp_path / "o.csv", [["1"]], fields=[CODE])
    assert (tmp_path / "o.csv").read_text() == f"t,cpv_code\n{text},1\n"


def uuids() -> pa.Array:
    """Return an extension type within a struct."""
    values = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)], pa.binary(16)))
    return pa.StructArray.from_arrays([values, pa.array([1])], ["id", "n"])


def union(kind: str) -> pa.Array:
    places, values = pa.array([0], pa.int8()), [pa.array([7])]
    if kind == "sparse":
        return pa.UnionArray.from_sparse(places, values)
    return pa.UnionArray.from_dense(places, pa.array([0], pa.int32()), values)


def test_extension_types_within_structs_come_back(tmp_path: Path) -> None:
    table = pa.table({"a": ["x"], "s": uuids()})
    pq.write_table(table, tmp_path / "in.parquet")
    reader = open_reader(tmp_path / "in.parquet", ["a"])
    rewrite(reader, tmp_path / "out.parquet", [["1"]], "parquet", [CODE])
    assert pq.read_table(tmp_path / "out.parquet").select(["a", "s"]).equals(table)


@pytest.mark.parametrize("column", [uuids(), union("sparse"), union("dense")])
def test_a_table_in_memory_may_have_any_type(column: pa.Array) -> None:
    table = pa.table({"a": ["x"], "s": column})
    reader = ArrowReader(table, ["a"])
    writer = ArrowWriter(reader.schema, [CODE])
    assert writer.table.num_rows == 0
    for batch in reader.batches():
        writer.write(batch, [NewColumn("cpv_code", pa.string(), ["1"])])
    writer.close({})
    assert writer.table.select(["a", "s"]).equals(table)


@pytest.mark.parametrize("column", [union("sparse"), pa.nulls(1, pa.month_day_nano_interval())])
def test_a_type_that_parquet_lacks_is_an_error(tmp_path: Path, column: pa.Array) -> None:
    reader = ArrowReader(pa.table({"a": ["x"], "u": column}), ["a"])
    with pytest.raises(OutputError) as caught:
        open_writer(tmp_path / "o.parquet", "o.parquet", "parquet", reader, [CODE])
    assert caught.value.message.startswith("The table cannot be written as Parquet: Unhandled")
    assert caught.value.hint == "Drop the column, or write CSV: --output-format csv."


def test_values_that_parquet_lacks_are_an_error(tmp_path: Path) -> None:
    """Parquet has no seconds; as milliseconds this one is too big."""
    reader = ArrowReader(pa.table({"t": pa.array([2**62], pa.timestamp("s"))}), ())
    with pytest.raises(OutputError, match="cannot be written as Parquet"):
        rewrite(reader, tmp_path / "o.parquet", [["1"]], "parquet", [CODE])
