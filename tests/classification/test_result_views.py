from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline.classification.result import InMemory
from pipeline.classification.summary import SystemSummary
from pipeline.errors import InputError
from pipeline.purchases import Paid, Parked
from tests.html_pages import check_fragment

TEXTS = ["Road resurfacing works", "", "asdf qwer zxcv", "Snow clearing <b>&</b> gritting"]


NOTHING = Decimal(0)
PAID = Paid(1, NOTHING, NOTHING, 0, 0, NOTHING)


def of_texts(top: int = 1) -> pipeline.Result:
    return pipeline.classify(TEXTS, systems=["cpv", "naics"], top=top)


def test_a_text_column_in_the_index_of_a_frame_is_an_error_that_says_so() -> None:
    frame = pd.DataFrame({"description": TEXTS, "id": range(4)}).set_index(["id", "description"])
    with pytest.raises(
        InputError, match=r"'description' is in the index .* frame\.reset_index\(\)"
    ):
        pipeline.classify(frame)
    found = pipeline.classify(frame.reset_index(), systems="psc", text_columns="description")
    assert found.summary.rows == 4


def test_results_are_compared_by_identity_because_frames_cannot_be() -> None:
    one = pipeline.classify(pd.Series(TEXTS), systems="psc")
    assert len({one, replace(one)}) == 2


def test_a_column_with_other_values_names_the_first_and_what_keeps_gaps_empty() -> None:
    frame = pd.DataFrame({"description": ["Road works", None, 12, 3.5]}, index=[3, 5, 7, 9])
    with pytest.raises(InputError, match=r"not text, such as 12 in the row 7\.") as refused:
        pipeline.classify(frame, systems="psc")
    assert "astype(object).astype('string')" in refused.value.hint
    frame["description"] = frame["description"].astype(object).astype("string")
    result = pipeline.classify(frame, systems="psc", min_confidence=0)
    assert result.to_pandas()["psc_status"].tolist()[:2] == ["ok", "empty"]


def test_rows_to_review_keep_their_index_and_rows_that_failed_are_apart() -> None:
    frame = pd.DataFrame({"description": TEXTS}, index=[3, 5, 7, 9])
    result = pipeline.classify(frame, systems="cpv", min_confidence=0.0)
    assert list(result.to_review().index) == [7]
    strict = pipeline.classify(frame, systems="cpv", min_confidence=1.0)
    assert list(strict.to_review().index) == [3, 7, 9]
    assert len(result.failed) == 0
    assert list(result.failed.columns) == list(result.to_pandas().columns)


def test_a_failed_row_is_one_whose_call_failed_and_a_notebook_shows_its_status() -> None:
    result = of_texts()
    statuses = pa.array(["VALIDATION_ERROR", "empty", "no_match", "ok"])
    table = result.table
    for column, values in (("cpv_code", pa.nulls(4, pa.string())), ("cpv_status", statuses)):
        table = table.set_column(table.column_names.index(column), column, values)
    changed = replace(result, _stored=InMemory(table))
    assert list(changed.failed.index) == [0]
    html = changed._repr_html_()
    assert ">VALIDATION_ERROR<" in html and ">no match<" in html


def test_an_output_is_found_after_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("description\nroad works\n")
    result = pipeline.classify("t.csv", output="o.csv", systems=["cpv"], progress=False)
    monkeypatch.chdir("/")
    assert result.table["description"].to_pylist() == ["road works"]


def test_an_output_with_titles_above_its_column_names_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Tenders of 2025\n\nid,description,value\n1,road works,2\n")
    result = pipeline.classify(path, output=tmp_path / "o.csv", systems=["cpv"], progress=False)
    found = result.to_pandas()
    assert [*found.columns[:4]] == ["id", "description", "value", "cpv_code"]
    assert found["description"].tolist() == ["road works"]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "xlsx"])
def test_the_views_of_an_output_file_are_those_of_a_table_in_memory(
    tmp_path: Path, suffix: str
) -> None:
    source, in_memory = tmp_path / "in.csv", of_texts()
    pd.DataFrame({"description": TEXTS}).to_csv(source)
    by_file = pipeline.classify(source, systems=["cpv", "naics"], output=tmp_path / f"out.{suffix}")
    new = in_memory.to_pandas().columns[1:]
    pd.testing.assert_frame_equal(by_file.to_pandas()[new], in_memory.to_pandas()[new])
    assert [*by_file.to_review().index] == [*in_memory.to_review().index]


def test_an_empty_frame_keeps_its_columns_in_every_view() -> None:
    result = pipeline.classify(pd.DataFrame({"description": []}, dtype=object), systems="cpv")
    assert list(result.to_review().columns) == list(result.to_pandas().columns)
    html = result._repr_html_()
    assert "<b>0 rows</b>" in html and "CPV" not in html, "there is nothing to say of it"


def test_a_notebook_shows_the_first_rows_safely() -> None:
    result = pipeline.classify(TEXTS * 5, systems=["cpv"])
    html = result._repr_html_()
    named = re.findall(r"<code>(\w+)\(\)</code>", html)
    assert named
    assert all(hasattr(result, name) for name in named)
    check_fragment(html)
    assert "<b>20 rows</b>" in html
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in html
    assert html.count("Snow clearing") == 2  # of the first ten rows
    assert "no match" in html
    assert re.search(r"<b>CPV</b> 10 likely, 5 no match, 5 no text</p>", html)
    assert re.search(r"0\.\d\d likely</span>", html)


def test_a_notebook_shows_what_to_do_after_a_stop_or_a_failure() -> None:
    result = of_texts()
    stopped = Parked(5, "The balance is <0>.", "Top it up, and make the same call.")
    html = replace(result, summary=replace(result.summary, parked=stopped))._repr_html_()
    check_fragment(html)
    assert "The balance is &lt;0&gt;.<br>Top it up, and make the same call.</p>" in html
    failed = SystemSummary({"TIMEOUT": 1, "<b>": 2}, Decimal(0))
    html = replace(result, summary=replace(result.summary, systems={"cpv": failed}))._repr_html_()
    check_fragment(html)
    assert "failed: 2 &lt;b&gt;, 1 TIMEOUT<br>" in html
    assert "Make the same call again; if that buys nothing, with retry_failed=True." in html


def test_a_notebook_says_how_doubtful_codes_of_a_service_are_marked() -> None:
    """A service has no threshold, so none of its rows are to review, doubtful or not."""
    result = pipeline.classify(
        [*TEXTS, "Cut Norway spruce, one at 12 m and six at 4 m"], systems=["cpv"]
    )
    assert result.summary.to_check
    assert f"{result.summary.to_check} to look at" in result._repr_html_()
    summary = replace(result.summary, to_check=0)
    html = replace(result, summary=replace(summary, paid=PAID))._repr_html_()
    check_fragment(html)
    assert "to look at" not in html
    assert f"<code>min_confidence={summary.doubtful_under}</code> marks the doubtful" in html
    assert "min_confidence" not in replace(result, summary=summary)._repr_html_()


def test_a_notebook_shows_labels_of_a_frame_and_the_place_of_a_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"description": TEXTS}, index=["A<1>", *"bcd"])
    assert "A&lt;1&gt;" in pipeline.classify(frame, systems="cpv")._repr_html_()
    frame.to_csv(tmp_path / "t.csv")
    result = pipeline.classify(tmp_path / "t.csv", systems="cpv", output=tmp_path / "o.csv")
    check_fragment(result._repr_html_())
    assert "o.csv" in result._repr_html_()


def test_other_libraries_read_the_result_as_an_arrow_stream() -> None:
    assert pa.table(result := of_texts()).equals(result.table)
