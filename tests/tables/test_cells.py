from __future__ import annotations

import base64
import json
import uuid
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import InputError, OutputError, PipelineError
from pipeline.settings import Format
from pipeline.tables.arrow import ArrowReader, ArrowWriter
from pipeline.tables.cells import arrow_cells, cell
from pipeline.tables.formats import checked, open_reader, open_writer
from pipeline.tables.table import NewColumn
from tests.tables.arrow_tables import not_utf8
from tests.tables.rewriting import CODE, rewrite


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        (Decimal("0.00015"), "0.00015"),
        (Decimal("1.500000000000000000000000"), "1.5"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("100"), "100"),
        (Decimal("0E-24"), "0"),
        (0.1, "0.1"),
        (np.float64(0.25), "0.25"),
        ([], "[]"),
        ([{"code": "03", "title": "Bäume"}], '[{"code":"03","title":"Bäume"}]'),
    ],
)
def test_our_own_values(value: Any, text: str) -> None:
    assert cell(value) == text


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "  =1",
        "\ufeff=1",
        "\xa0+1",
        "＝1+1",  # noqa: RUF001 - Excel in Japan takes it too
        "-",
    ],
)
def test_a_text_of_ours_that_a_spreadsheet_would_compute_has_an_apostrophe(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text",
    [
        *("45233140", "31-33", "J0", "'s-Hertogenbosch", " Seeds", "a=b", "(-1)", "no_match"),
        # what only joins or marks letters
        *("Türkçe", "دورة\u200f مياه", "a\u200db", "a\xa0b", "\ufeffa"),
    ],
)
def test_any_other_text_of_ours_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


UNSEEN = [chr(code) for code in (*range(32), *range(0x7F, 0xA0))] + list(
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


@pytest.mark.parametrize("character", UNSEEN, ids=ascii)
def test_a_control_character_in_a_text_of_ours_becomes_a_space(character: str) -> None:
    assert cell(f"Road{character}s") == "Road s"
    assert cell(f"{character}=1") == "' =1"


@pytest.mark.parametrize("character", UNSEEN, ids=ascii)
def test_a_control_character_in_a_list_of_ours_is_escaped_as_json_has_it(character: str) -> None:
    written = cell([{"title": f"Road{character}s"}])
    assert character not in written
    assert json.loads(written) == [{"title": f"Road{character}s"}]


PIECES = st.sampled_from(["'", "=", "+", "-", "@", "\xa0", "\ufeff", " ", "a", "7", "＝"])  # noqa: RUF001


@given(st.lists(PIECES, max_size=6).map("".join))
def test_an_apostrophe_can_be_taken_away_again(text: str) -> None:
    written = cell(text)
    assert written.lstrip(" \xa0\ufeff")[:1] not in {"=", "+", "-", "@"}
    again = cell(written)
    assert (written[1:] if written[:1] == "'" and again != written else written) == text


@given(st.floats(allow_nan=False))
def test_numbers_of_ours_are_read_back_exactly(value: float) -> None:
    assert float(cell(value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=24, min_value=0, max_value=10**9))
def test_money_is_plain_and_exact(value: Decimal) -> None:
    assert Decimal(cell(value)) == value
    assert "E" not in cell(value)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.int64(), 7, "7"),
        (pa.float64(), 0.1, "0.1"),
        (pa.bool_(), True, "true"),
        (pa.string(), " a\n", " a\n"),
        (pa.large_string(), "é", "é"),
        (pa.string_view(), "é", "é"),
        (pa.decimal128(20, 3), Decimal("1.500"), "1.500"),
        (pa.decimal128(20, 9), Decimal("0E-9"), "0.000000000"),
        (pa.decimal128(20, 9), Decimal("-1E-7"), "-0.000000100"),
        (pa.date32(), date(2024, 2, 29), "2024-02-29"),
        (pa.time64("us"), time(1, 2, 3), "01:02:03.000000"),
        (pa.duration("s"), timedelta(minutes=2), "120"),
        (pa.binary(), b"\xff\0", base64.b64encode(b"\xff\0").decode()),
        (pa.large_binary(), b"a", "YQ=="),
        (pa.binary_view(), b"a", "YQ=="),
        (pa.binary(2), b"ab", "YWI="),
        (pa.dictionary(pa.int8(), pa.string()), "x", "x"),
        (pa.dictionary(pa.int8(), pa.binary()), b"a", "YQ=="),
        (pa.list_(pa.int8()), [1, None], "[1,null]"),
        (pa.list_(pa.string()), ['é "q"'], '["é \\"q\\""]'),
        (pa.struct([("a", pa.date32())]), {"a": date(2024, 1, 2)}, '{"a":"2024-01-02"}'),
        (pa.struct([("a", pa.binary())]), {"a": b"a"}, '{"a":"YQ=="}'),
        (pa.struct([("a", pa.decimal128(3, 1))]), {"a": Decimal("1.5")}, '{"a":"1.5"}'),
        (pa.list_(pa.decimal128(9, 9)), [Decimal("1E-7")], '["0.000000100"]'),
        (pa.map_(pa.string(), pa.int8()), [("k", 1)], '[["k",1]]'),
        (pa.json_(), '{"a": 1}', '{"a": 1}'),
        (pa.uuid(), uuid.UUID(int=255).bytes, base64.b64encode(uuid.UUID(int=255).bytes).decode()),
    ],
)
def test_values_of_other_tables_and_their_nulls(kind: pa.DataType, value: Any, text: str) -> None:
    assert list(arrow_cells("c", pa.array([value, None], kind))) == [text, ""]


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
