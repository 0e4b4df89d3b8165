from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline.errors import SettingsError
from pipeline.paid.result import Paid
from tests.html_pages import check_fragment

TEXTS = ["Road resurfacing works", "", "asdf qwer zxcv", "Snow clearing <b>&</b> gritting"]


def of_texts(top: int = 1) -> pipeline.Result:
    return pipeline.classify(TEXTS, systems=["cpv", "naics"], top=top)


def test_a_list_of_texts_and_a_series_are_tables() -> None:
    by_list = of_texts()
    assert by_list.table["description"].to_pylist() == TEXTS
    series = pd.Series(TEXTS, index=list("abcd"), name="what")
    by_series = pipeline.classify(series, systems=["cpv", "naics"]).to_pandas()
    assert list(by_series.index) == list("abcd")
    assert by_series["cpv_code"].tolist()[0] == by_list.table["cpv_code"].to_pylist()[0]


@pytest.mark.parametrize("data", [["a", 1], [b"a"], 3])
def test_other_data_is_refused_with_what_it_may_be(data: Any) -> None:
    with pytest.raises(SettingsError, match="a list of texts"):
        pipeline.classify(data)


def test_a_list_has_one_column() -> None:
    with pytest.raises(SettingsError, match="The data has one column, and text_columns names 2"):
        pipeline.classify(["road"], text_columns=["title", "text"])


def test_rows_to_review_keep_their_index_and_rows_that_failed_are_apart() -> None:
    frame = pd.DataFrame({"description": TEXTS}, index=[3, 5, 7, 9])
    result = pipeline.classify(frame, systems="cpv", min_confidence=0.0)
    assert list(result.to_review().index) == [7]
    strict = pipeline.classify(frame, systems="cpv", min_confidence=1.0)
    assert list(strict.to_review().index) == [3, 7, 9]
    assert len(result.failed) == 0
    assert list(result.failed.columns) == list(result.to_pandas().columns)


def test_a_failed_row_is_one_whose_call_failed() -> None:
    result = of_texts()
    table = result.table
    statuses = pa.array(["TIMEOUT", "empty", "no_match", "ok"])
    place = table.column_names.index("cpv_status")
    changed = replace(result, _stored=table.set_column(place, "cpv_status", statuses))
    assert list(changed.failed.index) == [0]


@pytest.mark.parametrize("top", [1, 3])
def test_long_has_one_row_for_each_match(top: int) -> None:
    result = of_texts(top)
    found = result.long()
    assert list(found.columns) == ["row", "system", "rank", "code", "title", "confidence"]
    assert found["row"].tolist() == [0] * 2 * top + [3] * 2 * top
    assert found["system"].tolist()[: 2 * top] == ["cpv"] * top + ["naics"] * top
    assert found["rank"].tolist()[:top] == [*range(1, top + 1)]
    best = found[found["rank"] == 1].set_index(["row", "system"])
    assert best.loc[(0, "cpv"), "code"] == result.table["cpv_code"][0].as_py()


def test_long_of_a_file_reads_its_matches(tmp_path: Path) -> None:
    pd.DataFrame({"description": TEXTS}).to_csv(tmp_path / "t.csv", index=False)
    options = {"systems": ["cpv", "naics"], "top": 3}
    result = pipeline.classify(tmp_path / "t.csv", output=tmp_path / "o.csv", **options)  # type: ignore[arg-type]
    codes = ["row", "system", "rank", "code"]
    assert result.long()[codes].equals(of_texts(3).long()[codes])


def test_a_row_is_explained_by_its_words() -> None:
    found = of_texts().explain(3).set_index("system")
    assert "Snow" in str(found.loc["cpv", "why"])
    assert found.loc["cpv", "code"] == "90620000"


@pytest.mark.parametrize("row", [-1, 4])
def test_a_row_that_is_not_there_is_not_explained(row: int) -> None:
    with pytest.raises(SettingsError, match=r"row must be a position from 0 to 3\."):
        of_texts().explain(row)


def test_paid_answers_have_no_reasons() -> None:
    result = of_texts()
    nothing = Decimal(0)
    paid = replace(result.summary, paid=Paid(1, nothing, nothing, 0, 0, nothing))
    with pytest.raises(SettingsError, match="does not say why"):
        replace(result, summary=paid).explain(0)


def test_a_notebook_shows_the_first_rows_safely() -> None:
    html = pipeline.classify(TEXTS * 5, systems=["cpv"])._repr_html_()
    check_fragment(html)
    assert "<b>20 rows</b>" in html
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in html
    assert html.count("Snow clearing") == 2  # of the first ten rows
    assert "no match" in html


def test_a_notebook_shows_labels_of_a_frame_and_the_place_of_a_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"description": TEXTS}, index=["A<1>", *"bcd"])
    assert "A&lt;1&gt;" in pipeline.classify(frame, systems="cpv")._repr_html_()
    frame.to_csv(tmp_path / "t.csv")
    result = pipeline.classify(tmp_path / "t.csv", systems="cpv", output=tmp_path / "o.csv")
    check_fragment(result._repr_html_())
    assert "o.csv" in result._repr_html_()


def test_the_most_frequent_codes_are_drawn() -> None:
    html = str(pipeline.classify([*TEXTS, TEXTS[3]], systems="cpv").plot())
    check_fragment(html)
    assert html.index("90620000") < html.index("45233140")
    check_fragment(pipeline.classify(["asdf qwer"], systems="cpv").plot()._repr_html_())


def test_other_libraries_read_the_result_as_an_arrow_stream() -> None:
    result = of_texts()
    assert pa.table(result).equals(result.table)
