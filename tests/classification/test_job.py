"""A job from its table to its output, with a matcher that gives known answers."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.answers import SYSTEMS
from pipeline.classification.manifest import manifest_path
from pipeline.errors import InputError, SettingsError
from pipeline.settings import Settings
from pipeline.tables.formats import open_reader
from pipeline.tables.table import BATCH_ROWS
from tests.classification.jobs import STATUSES, TEXTS, run, write_csv
from tests.fakes import COST, ScriptedMatcher


def test_every_row_comes_out_in_order_with_its_answer_behind_it(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    run(write_csv(tmp_path / "in.csv"), output)
    lines = output.read_bytes().split(b"\r\n")
    assert lines == [
        b"id,description,cpv_code,cpv_title,cpv_confidence,cpv_status,cpv_cost_usd,cost_usd",
        b"000,road,45233140,Roadworks,0.9,ok,0.00010499999999999999,0.00010499999999999999",
        b"001,,,,,empty,0,0",
        b"002,chairs,39112000,Chairs,0.3,review,0,0",
        b"003,gibberish,,,,no_match,0,0",
        b"004,refused,,,,VALIDATION_ERROR,0,0",
        b"005,road,45233140,Roadworks,0.9,ok,0.00010499999999999999,0.00010499999999999999",
        b"",
    ]


def test_columns_are_in_the_order_of_the_systems_with_matches_when_asked(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    settings = Settings(systems=("naics", "cpv"), top=2, column_prefix="new_")
    run(write_csv(tmp_path / "in.csv"), output, settings, output_format="parquet")
    table = pq.read_table(output)
    suffixes = ["code", "title", "confidence", "status", "cost_usd", "matches"]
    assert table.column_names == [
        "id",
        "description",
        *[f"new_{system}_{suffix}" for system in ("naics", "cpv") for suffix in suffixes],
        "new_cost_usd",
    ]
    assert table["new_cpv_matches"].to_pylist()[:4] == [
        [
            {"code": "45233140", "title": "Roadworks", "confidence": 0.9},
            {"code": "45233000", "title": "Roads", "confidence": 0.4},
        ],
        None,
        [{"code": "39112000", "title": "Chairs", "confidence": 0.3}],
        [],
    ]
    assert table.schema.field("new_cost_usd").type == pa.decimal128(38, 24)


def test_costs_add_up_to_the_last_digit(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    texts = ["road"] * 1000
    source = write_csv(tmp_path / "in.csv", texts)
    summary = run(source, output, Settings(), output_format="parquet")
    expected = COST * len(texts) * len(SYSTEMS)
    assert summary.cost_usd == expected
    assert sum(pq.read_table(output)["cost_usd"].to_pylist()) == expected
    metadata = pq.read_metadata(output).metadata
    assert Decimal(metadata[b"tender_pipeline.cost_usd"].decode()) == expected
    manifest = json.loads(manifest_path(output).read_text())
    assert Decimal(manifest["summary"]["cost_usd"]) == expected


def test_the_manifest_says_what_went_in_and_what_came_out(tmp_path: Path) -> None:
    source, output = write_csv(tmp_path / "in.csv"), tmp_path / "out.csv"
    reader = open_reader(source, ("description",))
    run(source, output)
    manifest = json.loads(manifest_path(output).read_text())
    assert manifest["input"] == {"path": str(source), "sha256": reader.fingerprint()}
    assert manifest["output"]["sha256"] == open_reader(output, ()).fingerprint()
    assert manifest["settings"]["systems"] == ["cpv"]
    assert manifest["plan"] == {"rows": 6, "empty": 1, "wordless": 0}
    assert manifest["exit_state"] == "complete with failed rows"


def test_limit_rows_reads_no_further(tmp_path: Path) -> None:
    for limit in (0, 1, 3, 6, 100):
        output = tmp_path / f"out{limit}.csv"
        summary = run(
            write_csv(tmp_path / "in.csv"), output, Settings(systems=("cpv",), limit_rows=limit)
        )
        assert summary.rows == min(limit, len(TEXTS))
        assert len(output.read_text().splitlines()) == 1 + min(limit, len(TEXTS))


def test_a_ragged_table_fails_before_the_matcher_is_asked(tmp_path: Path) -> None:
    source = write_csv(tmp_path / "in.csv")
    with source.open("a") as file:
        file.write("8,road\r\n" * BATCH_ROWS + "9,road,more\r\n")
    asked: list[int] = []
    matcher = ScriptedMatcher(("cpv",), lambda: asked.append(1))
    with pytest.raises(InputError, match=f"line {BATCH_ROWS + 8}"):
        run(source, tmp_path / "out.csv", matcher=matcher)
    assert not asked
    assert not (tmp_path / "out.csv").exists()


def test_columns_of_our_names_stop_the_job_and_a_prefix_helps(tmp_path: Path) -> None:
    source, first = write_csv(tmp_path / "in.csv"), tmp_path / "first.csv"
    run(source, first)
    with pytest.raises(SettingsError, match=r"cpv_code.*--column-prefix"):
        run(first, tmp_path / "second.csv")
    run(first, tmp_path / "second.csv", Settings(systems=("cpv",), column_prefix="b_"))
    header = (tmp_path / "second.csv").read_text().splitlines()[0]
    assert header.endswith(
        "cost_usd,b_cpv_code,b_cpv_title,b_cpv_confidence,b_cpv_status,b_cpv_cost_usd,b_cost_usd"
    )


def test_a_doubtful_code_gives_way_to_a_sure_one_above_it(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    settings = Settings(systems=("cpv",), top=2, roll_up=0.95)
    summary = run(write_csv(tmp_path / "in.csv"), output, settings, output_format="parquet")
    table = pq.read_table(output)
    assert table["cpv_code"].to_pylist()[:3] == ["45233000", None, "39112000"]
    assert table["cpv_confidence"].to_pylist()[:3] == [1.0, None, 0.3]
    assert table["cpv_status"].to_pylist() == STATUSES
    listed = [match["code"] for match in table["cpv_matches"].to_pylist()[0]]
    assert listed == ["45233000", "45233140"]
    assert summary.systems["cpv"].statuses["review"] == STATUSES.count("review")
    said = json.loads(manifest_path(output).read_text())["settings"]
    assert (said["roll_up"], said["top"]) == (0.95, 2)
