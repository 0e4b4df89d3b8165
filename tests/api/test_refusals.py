"""What cannot work is refused, with what would."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tqdm import tqdm

import pipeline


@pytest.mark.parametrize(
    ("change", "options", "error", "hint"),
    [
        ({}, {"text_columns": "desc"}, pipeline.InputError, "Did you mean 'description'"),
        ({}, {"text_columns": "mixed"}, pipeline.InputError, "astype('string')"),
        ({}, {"systems": "ted"}, pipeline.SettingsError, "Choose from"),
        ({}, {"output": "x.csv"}, pipeline.SettingsError, "result.to_pandas()"),
        ({}, {"csv": pipeline.CsvOptions()}, pipeline.SettingsError, "give the path of the file"),
        ({"cpv_code": 1}, {}, pipeline.SettingsError, 'column_prefix="new_"'),
    ],
)
def test_what_cannot_work_is_refused_with_a_hint(
    frame: pd.DataFrame,
    change: dict[str, Any],
    options: dict[str, Any],
    error: type[pipeline.PipelineError],
    hint: str,
) -> None:
    with pytest.raises(error) as refusal:
        pipeline.classify(frame.assign(**change), **options)
    assert hint in refusal.value.hint


@pytest.mark.parametrize(
    "data",
    [
        None,
        np.array([["Road marking"]]),
        b"tenders.csv",
        {"description": ["Road marking"]},
        7,
    ],
    ids=lambda data: type(data).__name__,
)
def test_anything_but_a_table_is_refused_with_what_would_be_one(data: Any) -> None:
    with pytest.raises(pipeline.SettingsError, match="not a table") as refusal:
        pipeline.classify(data)
    assert "data must be a pandas frame" in refusal.value.hint


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("", "The path is empty"),
        ("tenders", "The name 'tenders' does not show which"),
        ("folder", "For a folder, call pipeline.classify_files"),
    ],
)
def test_a_string_is_the_path_of_a_file_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("tenders").write_text("description\nRoad marking\n")
    with pytest.raises(pipeline.PipelineError, match=said):
        pipeline.classify(data)


def test_a_column_with_the_arrow_interface_is_not_a_table() -> None:
    column = SimpleNamespace(__arrow_c_stream__=pa.chunked_array([["a"]]).__arrow_c_stream__)
    with pytest.raises(pipeline.InputError, match="Arrow cannot read the table"):
        pipeline.classify(column)


def test_a_reader_that_was_read_before_is_not_silently_empty() -> None:
    reader = pa.table({"description": ["Road marking"]}).to_reader()
    assert pipeline.plan(reader).rows == 1
    with pytest.warns(UserWarning, match=r"reader has no rows.*reader\.read_all\(\)") as warned:
        assert pipeline.classify(reader).summary.rows == 0
    assert warned[0].filename == __file__


@pytest.mark.parametrize("streams", [False, True])
def test_the_error_about_a_frame_of_spark_says_what_to_call(streams: bool) -> None:
    def fail(schema: object) -> object:
        raise ValueError("at java.base/java.lang.Thread.run(Thread.java:840)\n" * 50)

    members: dict[str, Any] = {"__module__": "pyspark.sql.dataframe"}
    frame = type("DataFrame", (), members | ({"__arrow_c_stream__": fail} if streams else {}))()
    with pytest.raises(pipeline.PipelineError) as refusal:
        pipeline.classify(frame)
    assert refusal.value.hint.startswith("Call pipeline.spark.classify, or")
    assert len(refusal.value.message) < 300


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"progress": None}, "progress must be"),
        ({"progress": tqdm}, "progress must be"),
        ({"csv": "x"}, "csv must be a CsvOptions"),
        ({"output": 5}, "output must be the path of a file"),
        ({"overwrite": "no"}, "overwrite must be True or False"),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused_with_what_it_must_be(
    tmp_path: Path, options: dict[str, Any], hint: str
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("description\nRoad marking\n")
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.classify(source, **options)
    assert hint in refusal.value.hint
    with pytest.raises(pipeline.SettingsError):
        asyncio.run(pipeline.classify_async(source, **options))


def test_an_index_of_our_name_is_refused_before_the_job(frame: pd.DataFrame) -> None:
    with pytest.raises(pipeline.SettingsError, match="'cpv_code'"):
        pipeline.classify(frame.rename_axis("cpv_code"))


@pytest.mark.filterwarnings("ignore:The text column .* hardly any words")
@pytest.mark.parametrize(
    "values",
    [
        pd.Series([2**70, 1], dtype=object),
        pd.Series([1j, 2j]),
        pd.Series(pd.arrays.SparseArray(["Road", "Chairs"])),
    ],
    ids=["huge", "complex", "sparse"],
)
def test_text_that_arrow_refuses_is_an_error_whose_hint_helps(values: pd.Series[Any]) -> None:
    frame = pd.DataFrame({"description": values})
    with pytest.raises(pipeline.InputError) as refusal:
        pipeline.classify(frame, systems="psc")
    assert ".astype(object).astype('string')" in refusal.value.hint
    frame["description"] = frame["description"].astype(object).astype("string")
    assert pipeline.classify(frame, systems="psc").summary.rows == 2
