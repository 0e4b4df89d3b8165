"""The Python interface, as a script uses it."""

from __future__ import annotations

import asyncio
import pickle
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

import pipeline
from pipeline.progress import Advance

TEXTS = ["Road marking and traffic signs", None, "Office chairs", "Office chairs"]


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "description": TEXTS,
            "n": pd.array([1, None, 3, 4], dtype="Int8"),
            "mixed": [1, "two", 3.0, {"four": 4}],
            "when": pd.Series(
                ["2026-01-01", None, "2026-03-01", "2026-04-01"], dtype="datetime64[us]"
            ),
            "kind": pd.Categorical(["a", "b", "a", None]),
            5: np.arange(4, dtype="float32"),
        },
        index=pd.Index([7, 7, 1, 0], name="key"),
    )


def test_a_frame_comes_back_as_it_was_with_new_columns(frame: pd.DataFrame) -> None:
    before = frame.copy(deep=True)
    result = pipeline.classify(frame, systems=["naics", "psc"], min_confidence=0)
    enriched = result.to_pandas()
    pd.testing.assert_frame_equal(enriched[before.columns], before)
    pd.testing.assert_frame_equal(frame, before)
    assert list(enriched.columns[len(before.columns) :])[:2] == ["naics_code", "naics_title"]
    assert enriched["naics_status"].tolist() == ["ok", "empty", "ok", "ok"]
    assert enriched["cost_usd"].tolist() == [Decimal(0)] * 4


def test_a_frame_without_odd_columns_has_a_table_too(frame: pd.DataFrame) -> None:
    table = pipeline.classify(frame[["description", "n"]], systems="psc", min_confidence=0).table
    assert table["n"].to_pylist() == [1, None, 3, 4]
    assert table["psc_status"].to_pylist() == ["ok", "empty", "ok", "ok"]


def test_a_table_comes_back_with_its_types() -> None:
    table = pa.table(
        {
            "description": pa.array(TEXTS).dictionary_encode(),
            "codes": pa.array([[1], None, [], [2, 3]], pa.list_(pa.int8())),
        },
        metadata={"owner": "us"},
    )
    result = pipeline.classify(table, systems=["psc"], min_confidence=0)
    assert result.table.select(["description", "codes"]).equals(table)
    assert result.table.schema.metadata[b"owner"] == b"us"
    assert result.table["psc_status"].to_pylist() == ["ok", "empty", "ok", "ok"]


def test_anything_that_speaks_arrow_is_a_table() -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            stream: object = pa.table({"description": TEXTS}).__arrow_c_stream__(requested_schema)
            return stream

    assert pipeline.classify(Stream(), systems="psc").summary.rows == 4


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
    with pytest.raises(pipeline.InputError, match=r"in\.zip holds no ZIP data"):
        pipeline.classify(archive)


def test_several_text_columns_are_joined() -> None:
    table = pa.table({"title": ["Office"], "description": ["chairs"]})
    joined = pipeline.classify(table, systems="cpv", text_columns=["title", "description"])
    whole = pipeline.classify(pa.table({"description": ["Office. chairs"]}), systems="cpv")
    assert joined.table["cpv_code"].equals(whole.table["cpv_code"])
    assert joined.table["cpv_confidence"].equals(whole.table["cpv_confidence"])


def test_cost_is_an_exact_zero_and_the_summary_reads_well(frame: pd.DataFrame) -> None:
    result = pipeline.classify(frame, systems="psc")
    assert result.cost_usd == Decimal(0)
    assert "4 rows" in str(result.summary)


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
def test_what_is_no_table_is_refused_with_what_would_be_one(data: Any) -> None:
    with pytest.raises(pipeline.SettingsError, match="not a table") as refusal:
        pipeline.classify(data)
    assert "data must be a pandas frame" in refusal.value.hint


def test_a_column_that_speaks_arrow_is_no_table() -> None:
    column = SimpleNamespace(__arrow_c_stream__=pa.chunked_array([["a"]]).__arrow_c_stream__)
    with pytest.raises(pipeline.InputError, match="Arrow cannot read the table"):
        pipeline.classify(column)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"top": "3"}, "top must be a whole number from 1 to 10."),
        ({"systems": None}, "systems must be"),
        ({"text_columns": 0}, "text_columns must be"),
        ({"column_prefix": None}, "column_prefix must be"),
        ({"progress": None}, "progress must be"),
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


@pytest.mark.parametrize(
    ("columns", "text_column"),
    [
        (pd.MultiIndex.from_tuples([("a", "x"), ("a", None)], names=["m", "n"]), "('a', 'x')"),
        (pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=[None, "n"]), "('a', 1)"),
        (pd.Index(["description", "other"], name="what"), "description"),
        (pd.CategoricalIndex(["description", "other"], name="what"), "description"),
        (pd.Index(["description", None], dtype=object), "description"),
        (pd.Index(["description", float("nan")], dtype=object), "description"),
        (pd.RangeIndex(2), "0"),
        (pd.date_range("2026-01-01", periods=2), "2026-01-01 00:00:00"),
    ],
)
def test_columns_keep_their_labels_whatever_they_are(
    columns: pd.Index[Any], text_column: str
) -> None:
    frame = pd.DataFrame([["Road marking", 1], ["Office chairs", 2]], columns=columns)
    frame.attrs["owner"] = "us"
    result = pipeline.classify(frame, systems="psc", text_columns=text_column, min_confidence=0)
    enriched = result.to_pandas()
    kept, new = enriched.columns[:2], enriched.columns[2:]
    assert [repr(label) for label in kept] == [repr(label) for label in columns]
    first = new[0][0] if isinstance(columns, pd.MultiIndex) else new[0]
    assert (first, enriched.columns.nlevels) == ("psc_code", columns.nlevels)
    assert enriched.columns.names == columns.names
    assert enriched.attrs == {"owner": "us"}
    assert enriched.iloc[:, 1].tolist() == [1, 2]
    assert enriched.iloc[:, 5].tolist() == ["ok", "ok"]


def test_labels_with_levels_are_padded_with_nothing() -> None:
    frame = pd.DataFrame({("description", "en", "x"): ["Road marking"]})
    text_column = "('description', 'en', 'x')"
    result = pipeline.classify(frame, systems="psc", text_columns=text_column, min_confidence=0)
    enriched = result.to_pandas()
    assert enriched["psc_status", "", ""].tolist() == ["ok"]
    again = frame.copy()
    again["psc_code", "", ""] = 1
    with pytest.raises(pipeline.SettingsError, match="'psc_code'"):
        pipeline.classify(again, systems="psc", text_columns=text_column)


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


def test_half_a_surrogate_pair_stays_in_the_frame_and_the_row_is_classified() -> None:
    texts = pd.Series(["Road marking \ud800", None, "Office chairs"], dtype=object)
    result = pipeline.classify(
        pd.DataFrame({"description": texts}), systems="psc", min_confidence=0
    )
    enriched = result.to_pandas()
    assert enriched["description"].tolist() == texts.tolist()
    assert enriched["psc_status"].tolist() == ["ok", "empty", "ok"]
    with pytest.raises(pipeline.InputError, match="Arrow cannot hold this frame") as refusal:
        _ = result.table
    refusal.value.message.encode()


@pytest.mark.parametrize("odd", ["mixed", "sparse", "twice"])
def test_a_frame_that_arrow_cannot_hold_still_comes_back_as_a_frame(odd: str) -> None:
    frame = pd.DataFrame({"description": ["Road marking", "Chairs"], "odd": [1, "two"]})
    if odd == "sparse":
        frame["odd"] = pd.arrays.SparseArray([0, 1])
    if odd == "twice":
        frame = frame[["description", "odd", "odd"]]
    result = pipeline.classify(frame, systems="psc")
    with pytest.raises(pipeline.InputError) as refusal:
        _ = result.table
    assert "to_pandas()" in refusal.value.hint
    pd.testing.assert_frame_equal(result.to_pandas().iloc[:, : frame.shape[1]], frame)


def test_a_column_of_the_users_keeps_its_decimal_places() -> None:
    prices = pa.array([Decimal("1.50"), None], pa.decimal128(38, 24))
    table = pa.table({"description": ["Road marking", "Chairs"], "price": prices})
    frame = pipeline.classify(table, systems="psc").to_pandas(exact_costs=True)
    assert str(frame["price"][0]) == "1.500000000000000000000000"
    assert frame["price"].tolist() == table.to_pandas()["price"].tolist()
    assert str(frame["cost_usd"][0]) == "0"


def test_a_result_can_be_pickled(frame: pd.DataFrame, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("description\nRoad marking\n")
    for result in (
        pipeline.classify(frame, systems="psc"),
        pipeline.classify(pa.table({"description": TEXTS}), systems="psc"),
        pipeline.classify(source, systems="psc", output=tmp_path / "out.csv"),
    ):
        again = pickle.loads(pickle.dumps(result))
        assert again.summary == result.summary
        pd.testing.assert_frame_equal(again.to_pandas(), result.to_pandas())


def test_a_bar_is_shown_when_asked(frame: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline.classify(frame, systems="psc", progress=True)
    assert "4/4" in capsys.readouterr().err
    pipeline.classify(frame, systems="psc")
    assert capsys.readouterr().err == ""


def test_the_async_form_lets_the_loop_go_on(frame: pd.DataFrame) -> None:
    async def both() -> tuple[pipeline.Result, int]:
        work = asyncio.create_task(pipeline.classify_async(frame, systems="psc"))
        turns = 0
        while not work.done():
            await asyncio.sleep(0)
            turns += 1
        return await work, turns

    result, turns = asyncio.run(both())
    assert result.summary.rows == 4
    assert turns > 1


def test_the_sync_form_works_inside_a_running_loop(frame: pd.DataFrame) -> None:
    async def call() -> int:
        return pipeline.classify(frame, systems="psc").summary.rows

    assert asyncio.run(call()) == 4


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


def test_new_columns_have_the_dtypes_that_pandas_users_expect(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame[["description"]].to_csv(tmp_path / "in.csv", index=False)
    for data, output in ((frame, None), (tmp_path / "in.csv", tmp_path / "out.csv")):
        result = pipeline.classify(data, systems="psc", top=2, output=output)
        enriched = result.to_pandas()
        kinds = {name: str(kind) for name, kind in enriched.dtypes.items()}
        assert (kinds["psc_code"], kinds["psc_title"]) == ("string", "string")
        assert (kinds["psc_status"], kinds["psc_confidence"]) == ("category", "float64")
        assert (kinds["psc_cost_usd"], kinds["cost_usd"]) == ("float64", "float64")
        assert enriched["psc_code"].iloc[1] is pd.NA
        assert np.isnan(enriched["psc_confidence"].iloc[1])
        assert set(enriched["psc_status"].cat.categories) == set(enriched["psc_status"])
        exact = result.to_pandas(exact_costs=True)["cost_usd"]
        assert [repr(cost) for cost in exact] == ["Decimal('0')"] * 4


def test_costs_are_the_nearest_floats_or_exact_decimals_and_unknown_ones_are_missing() -> None:
    from pipeline.classification.pandas_columns import new_columns_of
    from pipeline.settings import Settings

    settings = Settings(systems=("psc",))
    usd = pa.decimal128(38, 24)
    costs = [Decimal("0.00010499999999999999"), None, Decimal(0)]
    text = pa.array(["J065", None, "J065"])
    columns = [text, text, pa.array([0.5, None, 1]), pa.array(["ok", "empty", "TIMEOUT"])]
    names = [f"psc_{name}" for name in ("code", "title", "confidence", "status", "cost_usd")]
    table = pa.table([*columns, *[pa.array(costs, usd)] * 2], names=[*names, "cost_usd"])
    found = new_columns_of(table, settings)
    assert found["cost_usd"].tolist()[::2] == [0.00010499999999999999, 0.0]
    assert np.isnan(found["cost_usd"][1])
    exact = new_columns_of(table, settings, exact_costs=True)["cost_usd"]
    assert exact.tolist() == costs
    assert str(exact[2]) == "0"


def test_the_table_comes_back_in_the_kind_that_was_passed(frame: pd.DataFrame) -> None:
    of_frame = pipeline.classify(frame, systems="psc")
    pd.testing.assert_frame_equal(of_frame.data, of_frame.to_pandas())
    of_series = pipeline.classify(frame["description"], systems="psc")
    assert list(of_series.data.index) == list(frame.index)
    of_table = pipeline.classify(pa.table({"description": TEXTS}), systems="psc")
    assert of_table.data is of_table.table
    assert of_table.to_arrow() is of_table.table


def test_roll_up_replaces_codes(frame: pd.DataFrame) -> None:
    rolled_up = pipeline.classify(frame, systems="cpv", roll_up=0.5).to_pandas()["cpv_code"]
    plain = pipeline.classify(frame, systems="cpv").to_pandas()["cpv_code"]
    assert rolled_up.tolist() != plain.tolist()


def test_everything_public_that_works_on_tables_is_in_one_module() -> None:
    from pipeline import api

    for name in ("classify", "classify_async", "evaluate", "plan", "Evaluation", "Plan"):
        assert getattr(api, name) is getattr(pipeline, name)
