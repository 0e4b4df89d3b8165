"""`pipeline.classify`, as a script uses it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tqdm import tqdm

import pipeline
from pipeline.progress import Advance
from tests.api.conftest import TEXTS


def test_a_frame_comes_back_as_it_was_with_new_columns(frame: pd.DataFrame) -> None:
    before = frame.copy(deep=True)
    result = pipeline.classify(frame, systems=["naics", "psc"], min_confidence=0)
    enriched = result.to_pandas()
    pd.testing.assert_frame_equal(enriched[before.columns], before)
    pd.testing.assert_frame_equal(frame, before)
    assert list(enriched.columns[len(before.columns) :])[:2] == ["naics_code", "naics_title"]
    assert enriched["naics_status"].tolist() == ["ok", "empty", "ok", "ok"]
    assert enriched["cost_usd"].tolist() == [Decimal(0)] * 4


def test_a_path_gives_a_table_in_memory_or_a_file(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("ref;description\n007;Road marking\n")
    in_memory = pipeline.classify(source, systems="psc")
    assert in_memory.table["ref"].to_pylist() == ["007"]
    assert in_memory.summary.output is None
    for name in ("out.csv", "out.parquet"):
        written = pipeline.classify(str(source), systems="psc", output=tmp_path / name)
        assert written.summary.output == tmp_path / name
        assert written.to_pandas()["ref"].tolist() == ["007"]
    assert pq.read_table(tmp_path / "out.parquet").equals(in_memory.table)


def test_the_path_of_an_archive_is_that_of_its_table(tmp_path: Path) -> None:
    archive = tmp_path / "in.zip"
    with ZipFile(archive, "w") as file:
        file.writestr("tenders.csv", "ref;description\n007;Road marking\n")
    result = pipeline.classify(archive, systems="psc", output=tmp_path / "out.csv")
    assert result.to_pandas()["ref"].tolist() == ["007"]
    assert pipeline.plan(archive).rows == 1
    archive.write_bytes(b"no archive")
    with pytest.raises(pipeline.InputError, match=r"in\.zip cannot be unpacked"):
        pipeline.classify(archive)


def test_the_table_comes_back_in_the_kind_that_was_passed(frame: pd.DataFrame) -> None:
    of_frame = pipeline.classify(frame, systems="psc")
    pd.testing.assert_frame_equal(of_frame.data, of_frame.to_pandas())
    of_series = pipeline.classify(frame["description"], systems="psc")
    assert list(of_series.data.index) == list(frame.index)
    of_table = pipeline.classify(pa.table({"description": TEXTS}), systems="psc")
    assert of_table.data is of_table.table
    assert of_table.to_arrow() is of_table.table


def test_a_plan_takes_the_arguments_of_the_call_that_it_is_for(frame: pd.DataFrame) -> None:
    taken = frame.assign(psc_code="")
    options: dict[str, Any] = {"systems": "psc", "column_prefix": "new_", "top": 3, "jobs": "auto"}
    options |= {"overwrite": True, "partial": True, "progress": False, "language": "de"}
    assert pipeline.plan(taken, **options).rows == pipeline.classify(taken, **options).summary.rows
    for wrong in ({"top": 0}, {"progress": "yes"}, {"partial": "yes"}, {"models": "nowhere"}):
        with pytest.raises(pipeline.SettingsError):
            pipeline.plan(frame, **wrong)


ENGINE = {"systems": "psc"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    for name, text in (("a", "Road marking"), ("b", "Office chairs")):
        (data / f"{name}.csv").write_text(f"description\n{text}\n")
    return data


def states(found: list[pipeline.FileOutcome]) -> list[str]:
    return [each.state for each in found]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_is_classified_once(folder: Path, jobs: int) -> None:
    found = pipeline.classify_files(folder, output="out", jobs=jobs, **ENGINE)
    assert [each.file.path.name for each in found] == ["a.csv", "b.csv"]
    assert states(found) == ["done", "done"]
    assert "\n" not in repr(found), "the table of a summary would not fit into a list"
    assert "psc_code" in Path("out/b.csv").read_text()
    assert states(pipeline.classify_files(folder, output="out", **ENGINE)) == ["skipped"] * 2
    (folder / "b.csv").write_text("description\nWheat\n")
    again = pipeline.classify_files(["data/a.csv", "data/b.csv"], output="out", **ENGINE)
    assert states(again) == ["skipped", "done"]


def test_a_file_that_cannot_be_read_names_arguments_and_the_others_go_on(folder: Path) -> None:
    (folder / "a.csv").write_text("title\nRoad marking\n")
    bad, good = pipeline.classify_files("data/*.csv", output="out", **ENGINE)
    assert (bad.state, bad.exit_code, good.state) == ("failed", 2, "done")
    assert isinstance(bad.error, pipeline.InputError)
    assert 'text_columns=["title"]' in bad.error.hint


def test_wrong_arguments_are_refused_before_any_work(folder: Path) -> None:
    with pytest.raises(TypeError, match="has no argument"):
        pipeline.classify_files(folder, system="psc")
    with pytest.raises(pipeline.SettingsError, match="is not a folder") as caught:
        pipeline.classify_files(folder, output="out.csv", **ENGINE)
    assert caught.value.hint == 'Name a folder: output="DIR".'
    with pytest.raises(pipeline.InputError, match="has no table"):
        pipeline.classify_files("data/*.parquet", **ENGINE)
    for none in (list[str](), ()):
        with pytest.raises(pipeline.InputError, match="No path is given"):
            pipeline.classify_files(none, **ENGINE)


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
        ({"explain": "yes"}, "explain must be True or False."),
        ({"models": 5}, "models must be the folder"),
        ({"models": [b"model"]}, "models must be the folder"),
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


@pytest.mark.parametrize("argument", ["decisions", "models"])
def test_paths_may_be_in_an_array(argument: str, tmp_path: Path) -> None:
    paths: Any = {argument: np.array([str(tmp_path / "none")])}
    with pytest.raises(pipeline.PipelineError, match="none"):
        pipeline.classify(["Road marking"], systems="psc", **paths)


def test_a_cancelled_call_stops_at_the_next_batch_and_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("description\n" + "Road marking\n" * 5000)
    seen: list[int] = []

    async def cancel() -> None:
        loop = asyncio.get_running_loop()

        @contextmanager
        def display(rows: int) -> Iterator[Advance]:
            def advance(done: int) -> None:
                seen.append(done)
                loop.call_soon_threadsafe(work.cancel)

            yield advance

        work = asyncio.create_task(
            pipeline.classify_async(
                source, systems="psc", output=tmp_path / "out.csv", progress=display
            )
        )
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancel())
    assert 1 <= len(seen) < 5
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_notebooks_interrupt_stops_a_call_though_it_does_not_wake_the_event_loop(
    frame: pd.DataFrame,
) -> None:
    """The kernel's signal handler leaves the cancelling to the loop's next turn."""
    main, cancelled = threading.main_thread().ident or 0, threading.Event()

    @contextmanager
    def display(rows: int) -> Iterator[Advance]:
        def advance(done: int) -> None:
            signal.pthread_kill(main, signal.SIGUSR1)
            assert cancelled.wait(20), "The loop slept on."

        yield advance

    async def interrupted() -> None:
        loop = asyncio.get_running_loop()
        call = pipeline.classify_async(frame, systems="psc", progress=display)
        work = asyncio.create_task(call)

        def cancel() -> None:
            work.cancel()
            cancelled.set()

        signal.signal(signal.SIGUSR1, lambda *_: loop.call_soon(cancel))
        with pytest.raises(asyncio.CancelledError):
            await work

    before = signal.getsignal(signal.SIGUSR1)
    try:
        asyncio.run(interrupted())
    finally:
        signal.signal(signal.SIGUSR1, before)
