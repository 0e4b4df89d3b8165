"""Tables of other formats become workbooks, or are refused while planning."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import OutputError
from pipeline.settings import Format
from pipeline.tables.formats import checked, open_reader
from tests.tables.rewriting import rewrite
from tests.tables.workbooks import CODE, COST, NEW, calamine


def test_a_table_with_every_type_becomes_a_workbook(tmp_path: Path) -> None:
    columns = {
        "text": ["=x", "<r>a</r>"],
        "int": pa.array([2**53, 2**53 + 1], pa.int64()),
        "float": [0.1, float("nan")],
        "decimal": [Decimal("1.10"), Decimal("0.12345678901234567890")],
        "flag": [True, None],
        "day": [date(2024, 1, 2), date(1850, 1, 1)],
        "time": pa.array([1_704_164_645_500_000, 1_704_164_645_500_001], pa.timestamp("us")),
        "nanoseconds": pa.array([10**18, 10**18 + 1], pa.timestamp("ns")),
        "list": [[1], []],
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    output = tmp_path / "o.xlsx"
    rewrite(open_reader(tmp_path / "t.parquet", ()), output, [NEW] * 2, "xlsx", [CODE, COST])
    names, first, second = calamine(output)
    assert names == [*columns, "code", "cost"]
    assert first == [
        "=x",
        2.0**53,
        0.1,
        1.1,
        True,
        date(2024, 1, 2),
        datetime(2024, 1, 2, 3, 4, 5, 500_000),
        datetime(2001, 9, 9, 1, 46, 40),
        "[1]",
        "=1+1",
        0.1,
    ]
    assert second[:4] == ["<r>a</r>", str(2**53 + 1), "nan", "0.12345678901234567890"]
    assert second[4:7] == ["", "1850-01-01", "2024-01-02 03:04:05.500001"]
    assert second[7:9] == ["2001-09-09 01:46:40.000000001", "[]"]


def test_csv_becomes_a_workbook_of_texts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,n\n007,12345678901234567890\n")
    reader = open_reader(tmp_path / "t.csv", ())
    new = ("x" * 32_767, Decimal("0.00010499999999999999"))
    rewrite(reader, tmp_path / "o.xlsx", [new], "xlsx", [CODE, COST])
    row = calamine(tmp_path / "o.xlsx")[1]
    assert row == ["007", "12345678901234567890", new[0], "0.00010499999999999999"]
    assert not caplog.records


def test_new_texts_that_are_too_long_are_cut(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id\n1\n2\n")
    reader = open_reader(tmp_path / "t.csv", ())
    matches = [{"code": str(place), "title": '"😀' * 1_500} for place in range(10)]
    fields = [CODE, pa.field("matches", pa.list_(pa.string()))]
    rewrite(reader, tmp_path / "o.xlsx", [("x" * 32_768, matches), ("", [])], "xlsx", fields)
    first, second = calamine(tmp_path / "o.xlsx")[1:]
    assert 16_000 < len(first[1]) <= 32_767
    kept = json.loads(first[2])
    assert kept == matches[: len(kept)]
    assert 0 < len(kept) < 10
    assert second[1:] == ["", "[]"]


@pytest.mark.parametrize(
    ("rows", "text", "message"),
    [
        (3, "x", "A sheet cannot hold more than 3 rows."),
        (1, "x" * 32_768, "A cell cannot hold more than 32,767 characters"),
        (1, "😀" * 16_384, "A cell cannot hold more than 32,767 characters"),
    ],
)
def test_what_a_sheet_cannot_hold_is_refused_while_planning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, text: str, message: str
) -> None:
    monkeypatch.setattr("pipeline.tables.xlsx_writer.ROWS", 3)
    monkeypatch.setattr("pipeline.tables.table.BATCH_ROWS", 2)
    (tmp_path / "t.csv").write_text("a\n" + f"{text}\n" * rows)
    reader = open_reader(tmp_path / "t.csv", ())
    formats: list[Format] = ["csv", "jsonl", "parquet"]
    for other in formats:
        assert sum(len(batch.texts) for batch in checked(reader.batches(), other)) == rows
    with pytest.raises(OutputError, match=message):
        list(checked(reader.batches(), "xlsx"))
    with pytest.raises(OutputError, match=message):
        rewrite(reader, tmp_path / "o.xlsx", [NEW] * rows, "xlsx", [CODE, COST])


def test_a_sheet_has_so_many_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",".join(map(str, range(16_383))) + "\n")
    with pytest.raises(OutputError, match="more than 16,384 columns"):
        rewrite(open_reader(tmp_path / "t.csv", ()), tmp_path / "o.xlsx", [], "xlsx", [CODE, COST])
