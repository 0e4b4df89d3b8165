"""A warning about columns without words comes before anything is bought, and suggests another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline.classification.text_columns import few_words, first_rows, have_words, likeliest
from pipeline.errors import InputError, SettingsError
from pipeline.tables.arrow import ArrowReader

TABLE = {
    "id": [str(number * 17) for number in range(9)],
    "ref": [f"UK-LON-{number:04}" for number in range(9)],
    "buyer": ["City of London, Department of Works"] * 9,
    "title": [f"Road marking in ward {number}" for number in range(9)],
    "price": list(range(9)),
}


def sample(**columns: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({**TABLE, **columns})


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Toner",
            "IT services",
            "Büro",
            "дорога",
            "道路標示",
            "도로",
            "Road works: https://x.example/1",
        ),
        *("Lizenzen für AutoCAD (.dwg)", "Straßenbau, siehe Plan.pdf", "道路標示xyz@b.example"),
    ],
)
def test_text_has_words(text: str) -> None:
    assert have_words([text]) == [True]


@pytest.mark.parametrize(
    "text",
    [
        *("", "123 456", "2024-01-31", "UK-LON-0001", "9e6cb408-ea9f-444e", "😀", "12,50 €"),
        *(
            "https://sam.example/notices?noticeid=1",
            "www.example.com/roads",
            "mailto:buyer@x.example",
        ),
        *("Einkauf@stadt.example; a.b@c.example", "Anhang_1.PDF", "(Plan-03.dwg), Los.docx"),
    ],
)
def test_numbers_dates_codes_links_and_file_names_have_none(text: str) -> None:
    assert have_words([text]) == [False]


def test_the_likeliest_column_has_other_words_in_each_row() -> None:
    assert likeliest(sample(), ["id"]) == "title"
    assert likeliest(sample(title=["open"] * 9), ["id", "buyer"]) == "title"
    assert likeliest(sample(title=[None] * 9), ["id", "buyer"]) is None
    assert likeliest(sample(title=["Road marking", *[None] * 8]), ["id", "buyer"]) is None
    titles = [f"Road-marking services and equipment {number}" for number in range(9)]
    assert likeliest(sample(cpv_code=["1"] * 9, cpv_title=titles), []) == "title"
    assert likeliest(sample(cpv_title=titles), []) == "cpv_title"
    views = pa.array(TABLE["title"], pa.string_view())
    assert likeliest(sample(title=views), ["id"]) == "title"
    names = ["id", "Text", "Text"]
    twice = pa.RecordBatch.from_arrays([["a word"] * 9, titles, [None] * 9], names)
    assert likeliest(twice, []) == "Text", "also if a second column of the name is empty"


@pytest.mark.parametrize(("worded", "told"), [(0, True), (2, True), (3, False), (10, False)])
def test_a_warning_says_where_hardly_any_row_has_words(worded: int, told: bool) -> None:
    said = few_words(["id"], 10, worded, sample)
    assert bool(said) == told
    if said:
        assert (
            f"{10 - worded} of 10 rows are numbers, dates, codes, links, file names or blank"
            in said
        )
        assert said.endswith("Did you mean --text-column 'title'?")


def test_where_no_column_has_words_none_is_proposed() -> None:
    numbers = pa.RecordBatch.from_pydict({"id": ["1"], "price": ["2"]})
    said = few_words(["id", "ref"], 1, 0, lambda: numbers)
    assert said is not None
    assert said.startswith("The text columns 'id', 'ref' hold")
    assert few_words(["id", "ref"], 0, 0, lambda: numbers) is None
    assert said.endswith("Name the column that says what is bought: --text-column NAME.")


def test_where_there_is_no_other_column_none_is_asked_for() -> None:
    with pytest.warns(UserWarning, match=r"or blank\. The table has no other column\.$"):
        pipeline.plan(["1", None])
    unknown = few_words(["id"], 1, 0, lambda: pa.RecordBatch.from_pydict({}))
    assert unknown is not None and unknown.endswith("--text-column NAME.")


def test_a_column_of_objects_is_no_text_and_places_in_ocds_releases_are_no_columns() -> None:
    objects = [f'{{"title": "Road marking in ward {number}"}}' for number in range(9)]
    assert likeliest(sample(tender=objects, lots=[f"[{each}]" for each in objects]), []) == "title"
    for wanted, holds in (
        ("tender.titel", "The text column 'tender.titel' holds"),
        ("description", "The titles, descriptions and items of the releases hold"),
    ):
        said = few_words([wanted], 10, 0, sample)
        assert said is not None and said.startswith(holds)
        assert said.endswith("Name the field that says what is bought: --text-column NAME.")
    said = few_words(["ref.id"], 10, 0, sample)
    assert said is not None and said.endswith("--text-column 'title'?")


def test_the_first_rows_have_all_columns() -> None:
    table = pa.table(TABLE)
    assert first_rows(ArrowReader(table, ["id"])).schema.names == [*TABLE]


def test_a_script_beside_the_package_whose_name_begins_alike_is_the_users() -> None:
    script = str(Path(pipeline.__file__).parent) + "_job.py"
    call = compile('pipeline.plan(frame, text_columns="id")', script, "exec")
    with pytest.warns(UserWarning, match=r'Did you mean text_columns=\["title"\]\?') as warned:
        exec(call, {"pipeline": pipeline, "frame": pd.DataFrame(TABLE)})
    assert warned[0].filename == script


def test_too_many_rows_without_a_match_raise_and_the_table_is_there() -> None:
    frame = pd.DataFrame(TABLE)
    with (
        pytest.warns(UserWarning, match="hardly any words") as warned,
        pytest.raises(pipeline.NoMatchError, match=r"9 of 9 rows \(cpv\)") as caught,
    ):
        pipeline.classify(frame, text_columns="id", systems="cpv", fail_if_no_match=0.5)
    assert warned[0].filename == __file__
    assert caught.value.result.to_pandas()["cpv_status"].tolist() == ["no_match"] * 9
    assert caught.value.hint.startswith("The error's result has the table all the same.")
    assert "fail_if_no_match" in caught.value.hint
    assert "--" not in caught.value.hint


@pytest.mark.parametrize("kind", ["frame", "arrow", "csv", "xlsx"])
def test_the_column_with_the_words_is_suggested_if_no_name_is_like_the_missing_one(
    tmp_path: Path, kind: str
) -> None:
    frame = pd.DataFrame({"id": ["1", "2"], "was": ["Winterdienst auf Gehwegen", "Road marking"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pd.ExcelWriter(tmp_path / "t.xlsx", engine="xlsxwriter") as book:
        pd.DataFrame(["Tenders of 2025"]).to_excel(book, sheet_name="Cover", index=False)
        frame.to_excel(book, sheet_name="Data", index=False)
    data = {"frame": frame, "arrow": pa.table(frame)}.get(kind, tmp_path / f"t.{kind}")
    with pytest.raises(pipeline.InputError) as caught:
        pipeline.classify(data)
    another = " Or name another sheet, excel=pipeline.ExcelOptions(sheet=\"NAME\"): 'Cover'."
    hint = "Did you mean 'was'? Use text_columns=[\"was\"]."
    assert caught.value.hint == (hint + another if kind == "xlsx" else hint)


def test_a_column_without_words_is_not_suggested_for_its_name() -> None:
    numbers = {"descriptions": ["12", "13"], "was": ["Winterdienst auf Gehwegen", "Road marking"]}
    with pytest.raises(pipeline.InputError) as caught:
        pipeline.plan(pd.DataFrame(numbers))
    assert caught.value.hint == "Did you mean 'was'? Use text_columns=[\"was\"]."
    likely = {"descriptions": ["Road marking", "Chairs"], "was": numbers["was"]}
    with pytest.raises(pipeline.InputError, match="Did you mean 'descriptions'"):
        pipeline.plan(pd.DataFrame(likely))
    with pytest.raises(pipeline.InputError, match="Did you mean 'descriptions'"):
        pipeline.plan(pd.DataFrame({"descriptions": ["12", "13"]}))


def test_a_table_without_words_has_no_column_to_suggest() -> None:
    with pytest.raises(pipeline.InputError, match="Choose one of them"):
        pipeline.classify(pd.DataFrame({"id": ["1", "2"]}))


def test_a_column_that_is_suggested_for_its_name_is_not_suggested_again_for_its_words() -> None:
    labels = pd.MultiIndex.from_tuples([("a", "description"), ("a", "n")])
    frame = pd.DataFrame([["Road marking", 1]], columns=labels)
    with pytest.raises(pipeline.InputError) as caught:
        pipeline.classify(frame, systems="psc", text_columns=("a", "description"))
    name = "\"('a', 'description')\""
    assert caught.value.hint == f"Did you mean {name}? Use text_columns=[{name}]."


def test_rows_that_lack_a_field_which_others_have_are_shown_in_a_notebook() -> None:
    cells = ['{"name": "Town"}', '{"city": "X"}']
    table = pa.table({"title": ["Road salt for winter", "Chairs"], "buyer": cells})
    columns = ["title", "buyer.city"]
    result = pipeline.classify(table, systems=["cpv"], text_columns=columns, limit_rows=1)
    assert "Road salt" in result._repr_html_()


def test_missing_values_in_a_list_are_empty_and_other_values_are_named() -> None:
    gaps = ["Road works \ud800", "Office chairs", None, float("nan"), pd.NA]
    for texts in (gaps, tuple(gaps), np.array(gaps, object), pd.Index(gaps, dtype=object)):
        table = pipeline.classify(texts, systems="psc").table
        assert table["psc_status"].to_pylist()[2:] == ["empty"] * 3
        assert table["description"].null_count == 3
    with pytest.raises(SettingsError, match="a list whose item 1 is of the type float"):
        pipeline.classify(["Road works", 3.5])


@pytest.mark.parametrize(
    "texts",
    [
        pd.array(["Road works", None], "string"),
        pd.Categorical(["Road works", None]),
        pa.array(["Road works", None]).dictionary_encode(),
        pa.chunked_array([["Road works"], [None]], pa.large_string()),
    ],
)
def test_an_array_of_pandas_or_arrow_is_like_a_list(texts: Any) -> None:
    table = pipeline.classify(texts, systems="psc", text_columns="title").table
    assert table["title"].to_pylist() == ["Road works", None]
    assert table["psc_status"].to_pylist()[1] == "empty"


def test_an_arrow_array_of_records_is_a_table() -> None:
    records = pa.chunked_array([[{"description": "Road works", "id": 1}]])
    assert pipeline.classify(records, systems="psc").table["id"].to_pylist() == [1]


@pytest.mark.parametrize("text", ["Road works", "Winterdienst", "Lift no. 3", "x" * 9_999])
def test_a_text_that_is_not_in_a_list_is_not_taken_for_a_path(text: str) -> None:
    with pytest.raises(InputError, match=r"put it in a list: pipeline\.classify\(\[text\]\)"):
        pipeline.classify(text)


def test_a_misspelt_path_is_not_taken_for_a_text() -> None:
    with pytest.raises(InputError, match=r"my tenders\.csv does not exist"):
        pipeline.classify("my tenders.csv")


def test_a_list_has_one_column() -> None:
    with pytest.raises(SettingsError, match="The data has one column, and text_columns names 2"):
        pipeline.classify(["road"], text_columns=["title", "text"])
