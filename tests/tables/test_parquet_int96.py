from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.tables import open_reader
from pipeline.tables.parquet import int96_columns
from tests.tables.rewriting import CODE, folder, rewrite

NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
FAR = [datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1, 1, 1), None, datetime(2024, 2, 29)]


def write_int96(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, row_group_size=2)


def rewritten(path: Path, table: pa.Table) -> pa.Table:
    """Write a table with INT96, and return what comes of it when it is written again."""
    write_int96(path, table)
    output = path.with_name("out.parquet")
    rewrite(open_reader(path, ()), output, [[None]] * table.num_rows, "parquet", [CODE])
    return pq.read_table(output).select(range(table.num_columns))


def in_nanos(column: pa.ChunkedArray) -> list[int | None]:
    """Return instants as nanoseconds since 1970, in Python's own whole numbers."""
    nanos = NANOS[column.type.unit]
    return [None if v is None else v * nanos for v in column.cast(pa.int64()).to_pylist()]


@pytest.mark.parametrize("batch_rows", [1, 1024])
def test_dates_that_nanoseconds_cannot_hold_come_back(
    tmp_path: Path, batch_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.tables.parquet.BATCH_ROWS", batch_rows)
    table = pa.table({"t": pa.array(FAR, pa.timestamp("us"))})
    back = rewritten(tmp_path / "in.parquet", table)
    assert back.schema.field("t").type == pa.timestamp("us")
    assert back.column("t").to_pylist() == FAR


def test_the_output_has_no_int96(tmp_path: Path) -> None:
    table = pa.table({"t": pa.array(FAR, pa.timestamp("us"))})
    rewritten(tmp_path / "in.parquet", table)
    assert int96_columns(pq.ParquetFile(tmp_path / "in.parquet").schema) == ["t"]
    assert int96_columns(pq.ParquetFile(tmp_path / "out.parquet").schema) == []


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
    back = rewritten(tmp_path / "in.parquet", table)
    assert back.column("t").to_pylist() == pa.array(values, kind).to_pylist()


FINE = pa.array([1577836800000000123], pa.timestamp("ns"))


@pytest.mark.parametrize(
    "fine",
    [FINE, pa.array([None, {"a": FINE[0].as_py()}], pa.struct([("a", FINE.type)]))],
    ids=["column", "field"],
)
def test_timestamps_that_microseconds_cannot_hold_are_refused(
    tmp_path: Path, fine: pa.Array
) -> None:
    path = tmp_path / "in.parquet"
    late = pa.array([FAR[0]] * len(fine), pa.timestamp("us"))
    write_int96(path, pa.table({"fine": fine, "x": ["text"] * len(fine), "late": late}))
    with pytest.raises(InputError) as caught:
        open_reader(path, ["x"])
    assert caught.value.message.startswith(f"{path}: the INT96 timestamps of 'fine' do not fit")
    assert caught.value.hint == "Write the file again with timestamps in INT64, or drop the column."


def test_damage_within_int96_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table({"t": pa.array(range(9999), pa.timestamp("us"))})
    pq.write_table(
        table,
        path,
        compression="gzip",
        use_deprecated_int96_timestamps=True,
        use_dictionary=False,
    )
    data = bytearray(path.read_bytes())
    data[200:900] = bytes(700)
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        open_reader(path, ())


FIRST_DAY = -210_866_803_200 * 10**9
"""Day 0 of INT96, in nanoseconds from 1970; what lies before it is read as far in the future."""

INSTANTS = st.one_of(
    st.integers(-(10**22), 10**22),  # 317,000 years; a day's number must have 32 bits
    st.integers(-(2**64), 2**64),
    st.integers(-(2**54), 2**54).map(lambda micros: micros * 1000),
)


@given(
    unit=st.sampled_from(["s", "ms", "us", "ns"]),
    instants=st.lists(st.one_of(st.none(), INSTANTS), max_size=5),
)
def test_a_value_comes_back_or_the_file_is_refused(unit: str, instants: list[int | None]) -> None:
    cells = [None if instant is None else instant // NANOS[unit] for instant in instants]
    values = [value for value in cells if value is None or -(2**63) <= value < 2**63]
    table = pa.table({"t": pa.array(values, pa.timestamp(unit))})
    nanos = [value * NANOS[unit] for value in values if value is not None]
    with folder() as place:
        try:
            back = rewritten(place / "in.parquet", table)
        except InputError:
            fine = any(value % 1000 for value in nanos)
            beyond = any(not FIRST_DAY <= value < 2**63 // 10**6 * 10**9 for value in nanos)
            assert fine or beyond
            return
    assert in_nanos(back.column("t")) == in_nanos(table.column("t"))
