"""Which files can be reviewed, how they are read, and what is shown of their texts."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline
from pipeline.answers import SYSTEMS
from pipeline.classification.corrections import decisions_in
from pipeline.classification.enriched import open_enriched
from pipeline.classification.excerpts import LENGTH, excerpt, other_columns, spoken_words
from pipeline.classification.manifest import read_manifest
from pipeline.errors import InputError, SettingsError
from pipeline.review.queue import Filters, Queue
from pipeline.settings import Settings
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


BEFORE = (
    "This notice is issued by the City Procurement Office for the departments in annex A. "
    "Tenderers must register on the portal before the closing date, lot {}, and submit all "
    "documents there. Road works may take place near the office during the contract. "
)
AFTER = " Payment is due thirty days after the invoice. The law of the land applies to it."
BOUGHT = [
    "Supply of winter road salt and gritting.",
    "Catering for three nursery schools.",
    "Felling of storm-damaged spruces.",
    "Repair of lifts in public buildings.",
]
ALIKE = [BEFORE.format(number) + bought + AFTER for number, bought in enumerate(BOUGHT)]
DOTS = "\N{HORIZONTAL ELLIPSIS}"


def test_the_part_that_spoke_for_the_code_is_shown() -> None:
    text = "Chairs and tables. " + "We buy for schools. " * 20 + "Also one oak desk, by May."
    assert excerpt(text, ["desk", "oak"]).endswith("Also one oak desk, by May.")
    assert excerpt(text, ["CHAIRS"]).startswith("Chairs and tables. We buy")
    assert excerpt(ALIKE[2], ["spruces", "storm"]).startswith(f"{DOTS} {BOUGHT[2]}")


def test_a_short_text_is_shown_whole_and_one_without_sentences_from_its_best_part() -> None:
    assert excerpt("Road  salt\n", ["salt"]) == "Road salt"
    listed = "item " * 300 + "spruces felled " + "item " * 300
    assert "spruces felled" in excerpt(listed, ["spruces"])
    assert excerpt("x" * 1_000).startswith("xxx")
    assert excerpt(" " * 1_000) == ""


@given(st.text(min_size=LENGTH), st.lists(st.text(max_size=5)), st.integers(20, 400))
def test_an_excerpt_is_one_line_of_the_text_and_not_too_long(
    text: str, words: list[str], most: int
) -> None:
    found = excerpt(text, words, most)
    assert len(found) <= most
    assert found.isprintable()
    whole = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    assert found.removeprefix(DOTS).strip().removesuffix(DOTS).strip() in whole


def test_the_engine_names_the_words_and_else_the_title_has_them() -> None:
    text = "Supply of road salt"
    assert "salt" in spoken_words(text, [("cpv", "34927100", "Road salt")], by_engine=True)
    paid = spoken_words(text, [("cpv", "34927100", "Road salt"), ("psc", "5610", "Sand")])
    assert paid == ["Road", "Sand", "salt"]
    assert spoken_words(text, [("cpv", "00000000", "Old title")], by_engine=True) == [
        "Old",
        "title",
    ]


def test_the_columns_of_a_row_are_those_that_are_not_of_a_run_and_have_a_value() -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "description": ["a", "b"],
            "note": ["", "x\ny" * 500],
            "x_cpv_code": ["", "1"],
        }
    )
    settings = Settings(systems=("cpv",), column_prefix="x_")
    first, second = other_columns(table, settings)
    assert first == {"id": "1"}
    assert (second["id"], len(second["note"])) == ("2", 200)
    assert other_columns(table.select(["description"]), settings) == [{}, {}]


def test_a_notebook_tells_the_rows_apart_and_unfolds_their_columns() -> None:
    frame = pd.DataFrame({"id": ["N-1", "N-2", "N-3", "N-4"], "description": ALIKE})
    html = pipeline.classify(frame, systems="cpv")._repr_html_()
    shown = [part.partition("<details>")[0] for part in html.split('<td class="text">')[1:]]
    for own, bought in zip(shown, BOUGHT, strict=True):
        assert bought in own
        assert "City Procurement Office" not in own
    assert html.count("the whole row") == 4
    assert "N-3" in html
