"""Lists and arrays of texts are tables with one column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline.errors import InputError, SettingsError


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
