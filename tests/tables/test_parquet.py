from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.tables.formats import open_reader
from pipeline.tables.parquet import ParquetReader
from pipeline.tables.table import ARROW_USD, BATCH_CHARS
from tests.tables.arrow_tables import arrow_tables, not_utf8
from tests.tables.rewriting import CODE, folder, rewrite

CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]
COST = pa.field("cost_usd", ARROW_USD)
MATCHES = pa.field("matches", pa.list_(pa.struct([("code", pa.string())])))
FIELDS = [CODE, COST, MATCHES]


def new_cells(rows: int) -> list[list[Any]]:
    return [[str(row), Decimal(row) / 8, [{"code": "x"}] * (row % 3)] for row in range(rows)]


def rewritten(path: Path, table: pa.Table, metadata: dict[str, str] | None = None) -> pa.Table:
    """Write the Parquet file ``path`` again beside it; check the new columns; return the old."""
    output = path.with_name("out.parquet")
    rows = new_cells(table.num_rows)
    rewrite(open_reader(path, ()), output, rows, "parquet", FIELDS, metadata)
    written = pq.read_table(output)
    assert written.schema.names == [*table.schema.names, "cpv_code", "cost_usd", "matches"]
    for place, field in enumerate(FIELDS, start=-len(FIELDS)):
        assert written.schema.field(len(written.schema) + place).equals(field)
        assert written.column(len(written.schema) + place).to_pylist() == [r[place] for r in rows]
    return written.select(range(table.num_columns))


def codecs(path: Path) -> list[list[str]]:
    """Return the codec of each leaf column in each row group."""
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    return [[g.column(place).compression for place in range(g.num_columns)] for g in groups]


@given(
    table=arrow_tables(),
    codec=st.sampled_from(CODECS),
    group=st.integers(1, 10),
    version=st.sampled_from(["1.0", "2.4", "2.6"]),
    batch_rows=st.sampled_from([1, 3, 1024]),
    held_rows=st.sampled_from([1, 4, 1024]),
)
def test_columns_types_and_metadata_of_every_kind_come_back(
    table: pa.Table, codec: str, group: int, version: str, batch_rows: int, held_rows: int
) -> None:
    with folder() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.tables.parquet.BATCH_ROWS", batch_rows)
        patch.setattr("pipeline.tables.parquet.ROW_GROUP_ROWS", held_rows)
        path = place / "in.parquet"
        pq.write_table(table, path, row_group_size=group, compression=codec, version=version)
        original = pq.read_table(path)
        back = rewritten(path, original)
        assert back.equals(original)
        assert back.schema.equals(original.schema, check_metadata=True)
        for written in codecs(place / "out.parquet"):
            assert written[: -len(FIELDS)] == codecs(path)[0]


def test_all_columns_get_the_compression_that_most_have(tmp_path: Path) -> None:
    table = pa.table({"a": ["x"], "l": [[1]], "s": [{"b": 1, "c": [2]}]})
    paths = {"a": "gzip", "l.list.element": "snappy", "s.b": "gzip", "s.c.list.element": "gzip"}
    pq.write_table(table, tmp_path / "in.parquet", compression=paths)
    rewritten(tmp_path / "in.parquet", table)
    assert codecs(tmp_path / "out.parquet") == [["GZIP"] * (4 + len(FIELDS))]


@pytest.mark.parametrize("groups", [0, 1])
def test_a_table_without_rows_keeps_its_columns(tmp_path: Path, groups: int) -> None:
    schema = pa.schema([("a", pa.string()), ("b", pa.decimal128(5, 2))], metadata={"k": "v"})
    with pq.ParquetWriter(tmp_path / "in.parquet", schema) as writer:
        for _ in range(groups):
            writer.write_table(schema.empty_table())
    assert pq.read_metadata(tmp_path / "in.parquet").num_row_groups == groups
    back = rewritten(tmp_path / "in.parquet", schema.empty_table())
    assert back.num_rows == 0
    assert back.schema.equals(schema, check_metadata=True)


@pytest.mark.parametrize("store_schema", [True, False])
def test_entries_that_were_added_to_the_footer_are_kept(tmp_path: Path, store_schema: bool) -> None:
    schema = pa.schema([("a", pa.string())], metadata={"k": "v"})
    with pq.ParquetWriter(tmp_path / "in.parquet", schema, store_schema=store_schema) as writer:
        writer.write_table(pa.table({"a": ["x"]}, schema=schema))
        writer.add_key_value_metadata({"added": "later"})
    back = rewritten(tmp_path / "in.parquet", pa.table({"a": ["x"]}), {"total": "1.5"})
    expected = {b"added": b"later", b"total": b"1.5"} | ({b"k": b"v"} if store_schema else {})
    entries = pq.read_metadata(tmp_path / "out.parquet").metadata
    assert expected.items() <= entries.items()
    assert back.schema.metadata == expected


def test_a_second_run_replaces_the_entries_of_the_first(tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"{place}.parquet" for place in (1, 2, 3))
    pq.write_table(pa.table({"a": ["x"]}), first)
    rewrite(open_reader(first, ()), second, [["1"]], "parquet", [CODE], {"total": "1"})
    rewrite(open_reader(second, ()), third, [[None]], "parquet", [COST], {"total": "2"})
    assert pq.read_metadata(third).metadata[b"total"] == b"2"
    assert pq.read_schema(third).metadata == {b"total": b"2"}
    assert open_reader(third, ()).schema.metadata == {b"total": b"2"}


def test_text_that_is_not_utf8_and_not_asked_for_stays(tmp_path: Path) -> None:
    table = pa.table({"a": ["x"], "b": not_utf8(b"\xff")})
    pq.write_table(table, tmp_path / "in.parquet")
    back = rewritten(tmp_path / "in.parquet", table)
    assert back.column("b").cast(pa.binary()).to_pylist() == [b"\xff"]


def test_row_groups_have_a_bounded_number_of_bytes_compressed_with_zstd_if_not_like_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.tables.parquet.ROW_GROUP_BYTES", 100_000)
    monkeypatch.setattr("pipeline.tables.table.BATCH_ROWS", 1)
    (tmp_path / "in.csv").write_text("a,b\n" + f"1,{'x' * 60_000}\n" * 5)
    reader = open_reader(tmp_path / "in.csv", ())
    rewrite(reader, tmp_path / "out.parquet", [[None]] * 5, "parquet", [CODE])
    metadata = pq.read_metadata(tmp_path / "out.parquet")
    sizes = [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]
    assert sizes == [2, 2, 1]
    assert codecs(tmp_path / "out.parquet") == [["ZSTD"] * 3] * 3


@pytest.mark.parametrize("kept", [0, 3, 100, -1, -100])
def test_a_truncated_file_is_damaged(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [str(place) for place in range(1000)]}), path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError) as caught:
        open_reader(path, ["a"])
    assert caught.value.message.startswith(f"{path} cannot be read as Parquet: ")
    assert not caught.value.message.endswith("..")
    assert "--input-format csv" in caught.value.hint


def test_damage_within_the_file_is_found_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    texts = [f"{place * place % 99991} chairs" for place in range(20_000)]
    pq.write_table(pa.table({"a": texts}), path, 5_000, compression="gzip", use_dictionary=False)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(200)
    path.write_bytes(data)
    reader = open_reader(path, ["a"])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(reader.batches())


def test_a_table_of_huge_cells_comes_in_batches_of_bounded_characters(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    cells = [letter * (BATCH_CHARS // 3) for letter in "abcdefg"]
    pq.write_table(pa.table({"a": cells}), path, use_dictionary=False)
    batches = list(ParquetReader(path, ["a"]).batches())
    assert max(len(batch.texts) for batch in batches) <= 3
    assert [text for batch in batches for text in batch.texts] == cells


NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
FAR = [datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1, 1, 1), None, datetime(2024, 2, 29)]


def write_int96(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, row_group_size=2)


def int96_rewritten(path: Path, table: pa.Table) -> pa.Table:
    """Write a table with INT96, and return what comes of it when it is written again."""
    write_int96(path, table)
    output = path.with_name("out.parquet")
    rewrite(open_reader(path, ()), output, [[None]] * table.num_rows, "parquet", [CODE])
    return pq.read_table(output).select(range(table.num_columns))


def in_nanos(column: pa.ChunkedArray) -> list[int | None]:
    """Return instants as nanoseconds since 1970, in Python's own whole numbers."""
    nanos = NANOS[column.type.unit]
    return [None if v is None else v * nanos for v in column.cast(pa.int64()).to_pylist()]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.list_(pa.timestamp("us")), [FAR, None, []]),
        (pa.struct([("a.b", pa.timestamp("us")), ("n", pa.int8())]), [{"a.b": FAR[0], "n": 1}]),
        (pa.map_(pa.string(), pa.timestamp("us")), [[("k", FAR[1])], None]),
    ],
)
def test_nested_dates_come_back(tmp_path: Path, kind: pa.DataType, values: list[Any]) -> None:
    table = pa.table({"x": ["text"] * len(values), "t": pa.array(values, kind)})
    back = int96_rewritten(tmp_path / "in.parquet", table)
    assert back.column("t").to_pylist() == pa.array(values, kind).to_pylist()


FINE = pa.array([1577836800000000123], pa.timestamp("ns"))


@pytest.mark.parametrize(
    "fine",
    [
        FINE,
        pa.array([None, {"a": FINE[0].as_py()}], pa.struct([("a", FINE.type)])),
        pa.array([2**63 // 10**6 + 1], pa.timestamp("s")),
        pa.array([-(2**63) // 10**6 - 1], pa.timestamp("s")),
    ],
    ids=["column", "field", "late", "early"],
)
def test_timestamps_that_microseconds_cannot_hold_are_refused(
    tmp_path: Path, fine: pa.Array
) -> None:
    path = tmp_path / "in.parquet"
    late = pa.array([FAR[0]] * len(fine), pa.timestamp("us"))
    write_int96(path, pa.table({"fine": fine, "x": ["text"] * len(fine), "late": late}))
    with pytest.raises(InputError) as caught:
        open_reader(path, ["x"])
    assert caught.value.message.startswith(f"{path}: the INT96 timestamps of 'fine' do not")
    assert caught.value.hint == "Write the file again with timestamps in INT64, or drop the column."


INSTANTS = st.one_of(
    st.integers(-(2**61), 2**61),
    st.integers(-(2**57), 2**61).map(lambda micros: micros * 1000),
)
"""Nanoseconds from 1970; INT96 begins 6,682 years before."""


@given(
    unit=st.sampled_from(["s", "ms", "us", "ns"]),
    instants=st.lists(st.one_of(st.none(), INSTANTS), max_size=5),
)
def test_a_value_comes_back_or_the_file_is_refused(unit: str, instants: list[int | None]) -> None:
    cells = [None if each is None else each // NANOS[unit] for each in instants]
    cells = [each for each in cells if each is None or abs(each) < 2**63]
    table = pa.table({"t": pa.array(cells, pa.timestamp(unit))})
    with folder() as place:
        try:
            back = int96_rewritten(place / "in.parquet", table)
        except InputError:
            assert unit == "ns" and any((each or 0) % 1000 for each in cells)
            return
    assert in_nanos(back.column("t")) == in_nanos(table.column("t"))
