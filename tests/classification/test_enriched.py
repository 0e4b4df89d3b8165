"""Which files can be reviewed, and how they are read."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import pipeline
from pipeline.answers import SYSTEMS
from pipeline.classification.corrections import decisions_in
from pipeline.classification.enriched import open_enriched
from pipeline.classification.provenance import read_manifest
from pipeline.errors import InputError, SettingsError
from pipeline.review.queue import Filters, Queue
from tests.decisions.samples import chose, write
from tests.review.conftest import TEXTS, enriched


@pytest.mark.parametrize(("suffix", "row"), [("parquet", 2), ("jsonl", 2), ("csv", 3), ("xlsx", 3)])
def test_every_format_with_columns_can_be_reviewed(tmp_path: Path, suffix: str, row: int) -> None:
    """Rows have the numbers that a spreadsheet gives them, so that a header counts."""
    output = tmp_path / f"out.{suffix}"
    source = tmp_path / "in.csv"
    pd.DataFrame({"what": TEXTS}).to_csv(source, index=False)
    options = {"systems": "cpv", "text_columns": "what", "top": 3, "column_prefix": "x_"}
    pipeline.classify(source, output=output, **options)  # type: ignore[arg-type]
    queue = Queue(open_enriched(output))
    item = queue.next(Filters())
    assert item is not None
    assert (item.text, item.rows, item.first_row, len(item.matches)) == (TEXTS[1], 2, row, 3)
    queue.close()


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_rows_are_numbered_below_titles_and_past_line_breaks(tmp_path: Path, suffix: str) -> None:
    source, output = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    rows = [
        ["Tenders of the city", ""],
        ["", ""],
        ["id", "text"],
        ["1", "Road\nsalt"],
        ["2", "Fuel"],
    ]
    frame = pd.DataFrame(rows)
    (frame.to_csv if suffix == "csv" else frame.to_excel)(source, index=False, header=False)
    if suffix == "csv":
        source.write_text(source.read_text().replace("2,Fuel", "\n2,Fuel"))
    pipeline.classify(source, output=output, systems="cpv", text_columns="text", min_confidence=1)
    queue = Queue(open_enriched(output))
    found = {item.text: item.first_row for item in queue.acceptable(Filters())}
    assert found == {"Road salt": 4, "Fuel": 6 if suffix == "csv" else 5}
    queue.close()


def test_a_table_without_a_header_can_be_reviewed(tmp_path: Path) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("7,Road marking\n8,\n")
    csv = pipeline.CsvOptions(header=False)
    made = {"systems": "psc,cpv", "text_columns": "2", "top": 2, "explain": True}
    pipeline.classify(source, output=output, csv=csv, **made)  # type: ignore[arg-type]
    rows = [*open_enriched(output).rows()]
    assert [text for _, text, *_ in rows] == ["Road marking", ""]
    assert [each["psc"].status for *_, each, _ in rows][1] == "empty"
    assert rows[0][2]["cpv"].title == "Road-marking equipment"


def test_a_table_of_ocds_releases_has_their_texts_in_one_column(tmp_path: Path) -> None:
    tender = {"title": "Road marking", "items": [{"description": "paint"}]}
    source, output = tmp_path / "in.json", tmp_path / "out.csv"
    source.write_text(json.dumps({"releases": [{"ocid": "o", "id": "1", "tender": tender}]}))
    pipeline.classify(source, output=output, systems="cpv")
    (row,) = open_enriched(output).rows()
    assert row[1] == "Road marking. paint"


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet", "jsonl"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_texts_of_fields_are_in_every_format(tmp_path: Path, kind: str, suffix: str) -> None:
    source, output = tmp_path / f"in.{kind}", tmp_path / f"out.{suffix}"
    lots = [{"title": 'A "big" one'}, {"title": None}, {"title": "another\nlot"}]
    frame = pd.DataFrame({"tender": [{"title": "Road marking", "lots": lots}, None]})
    if kind == "jsonl":
        frame.to_json(source, orient="records", lines=True)
    else:
        frame.to_parquet(source)
    columns = ["tender.title", "tender.lots.title"]
    pipeline.classify(source, output=output, systems="cpv", text_columns=columns)
    found = [text for _, text, *_ in open_enriched(output).rows()]
    assert found == ['Road marking. A "big" one. another lot', ""]


def test_a_table_without_a_manifest_needs_its_text_column(tmp_path: Path) -> None:
    output = enriched(tmp_path)
    Path(f"{output}.manifest.json").unlink()
    with pytest.raises(SettingsError, match="--text-column NAME"):
        open_enriched(output)
    assert open_enriched(output, ["description"]).systems == ("cpv",)


@pytest.mark.parametrize("content", ["id,description\n1,road\n", "cpv_code,description\n,road\n"])
def test_a_table_without_codes_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "in.csv").write_text(content)
    with pytest.raises(InputError, match="no columns such as cpv_code and cpv_status"):
        open_enriched(tmp_path / "in.csv", ["description"])
    with pytest.raises(InputError, match="does not exist"):
        open_enriched(tmp_path / "nothing.csv")


def test_a_broken_manifest_and_broken_cells_do_not_stop_a_review(tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    rows = ["description,cpv_code,cpv_title,cpv_confidence,cpv_status,cpv_matches"]
    rows += ["road,'=1,x,high,review,[", "snow,45000000,x,nan,review,{}", "ice,,,,,"]
    output.write_text("\n".join(rows) + "\n")
    manifest = {
        "tool": "tender-pipeline",
        "settings": {"text_columns": ["description"], "models": 3},
    }
    Path(f"{output}.manifest.json").write_text(json.dumps(manifest | {"files": []}))
    queue = Queue(open_enriched(output))
    assert queue.progress(Filters(status="all")).texts == 2
    item = queue.next(Filters())
    assert item is not None and (item.code, item.confidence) == ("=1", None)
    queue.close()


@pytest.mark.parametrize(
    ("part", "name", "value", "said"),
    [
        ("settings", "text_columns", [None], "has no manifest that names its text columns"),
        ("settings", "systems", [*SYSTEMS], "has fewer columns than its manifest says"),
        ("files", "output_format", [], "has no column '1'"),
        ("files", "output_format", "of a newer version", "has no column '1'"),
        ("files", "csv", {"header": False, "of a newer version": 1}, ""),
    ],
)
def test_a_manifest_that_was_changed_is_no_unexpected_error(
    tmp_path: Path, part: str, name: str, value: object, said: str
) -> None:
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("Road marking\n")
    csv = pipeline.CsvOptions(header=False)
    pipeline.classify(source, output=output, systems="cpv", text_columns="1", csv=csv)
    changed = read_manifest(output)
    changed[part][name] = value
    if said:
        with pytest.raises((InputError, SettingsError), match=said):
            open_enriched(output, manifest=changed)
    else:
        assert len([*open_enriched(output, manifest=changed).rows()]) == 1


def test_decisions_survive_another_run_of_the_table(tmp_path: Path) -> None:
    found = write(tmp_path / "d.jsonl", [chose(TEXTS[1], "03450000")])
    output = enriched(tmp_path, ["a new first row", *TEXTS], decisions=found)
    queue = Queue(open_enriched(output))
    assert queue.find("cpv", TEXTS[1]) is not None
    assert queue.statuses()["decided"] == 1
    texts = {item.text for item in queue.acceptable(Filters())}
    assert TEXTS[1] not in texts
    assert decisions_in(found, print).of("cpv", TEXTS[1]) is not None
    queue.close()
