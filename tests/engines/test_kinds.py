"""Polars frames and DuckDB relations passed to `pipeline.classify`."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import pipeline
from tests.docs.pages import ROOT, blocks, page
from tests.engine.model.training_data import history
from tests.engines.tables import rows_of

TEXTS = ["Road resurfacing works", "", "asdf qwer zxcv", "Snow clearing"]
CODES = ["45233251", None, None, "90620000"]


@pytest.fixture
def frame() -> Any:
    polars = pytest.importorskip("polars")
    kinds = polars.Series("kind", ["a", "b", "a", None], dtype=polars.Categorical)
    ranks = polars.Series("rank", ["b", "a", "b", None], dtype=polars.Enum(["b", "a"]))
    return polars.DataFrame([polars.Series("description", TEXTS), kinds, ranks])


def test_a_polars_frame_comes_back_with_its_columns_and_the_new_ones(frame: Any) -> None:
    result = pipeline.classify(frame, systems="cpv", min_confidence=0)
    found: Any = result.data
    assert found.columns[3] == "cpv_code"
    assert found.select(frame.columns).equals(frame)
    assert found.select(frame.columns).schema == frame.schema
    assert found["cpv_code"].to_list() == CODES
    assert str(found.schema["cost_usd"]) == "Decimal(precision=38, scale=24)"
    assert "Snow clearing" in result._repr_html_()


def test_a_text_of_a_polars_frame_can_be_a_field_of_structs_or_of_json() -> None:
    polars = pytest.importorskip("polars")
    tender = [{"title": "Road marking"}, None, {"title": None}]
    frame = polars.DataFrame({"tender": tender, "lot": ["", None, '{"title": "Snow clearing"}']})
    columns = ["tender.title", "lot.title"]
    found: Any = pipeline.classify(frame, systems="cpv", text_columns=columns).data
    assert [each == "empty" for each in found["cpv_status"]] == [False, True, False]
    assert found.select("tender", "lot").equals(frame)


def test_a_lazy_frame_stays_lazy_and_a_series_becomes_a_frame(frame: Any) -> None:
    found: Any = pipeline.classify(frame.lazy(), systems="cpv", limit_rows=2).data
    assert type(found).__name__ == "LazyFrame"
    assert found.collect().height == 2
    series = pipeline.classify(frame["description"].rename("x"), systems="cpv").data
    assert series.columns[:2] == ["description", "cpv_code"]


def test_columns_that_arrow_lacks_are_refused_and_objects_never_passed_on_as_addresses() -> None:
    polars = pytest.importorskip("polars")
    objects = polars.DataFrame([polars.Series("description", [object()], dtype=polars.Object)])
    long = polars.DataFrame({"description": ["Chairs"], "n": [2**100]})
    for frame, message in ((objects, "Python objects 'description'"), (long, "Drop or cast")):
        with pytest.raises(pipeline.InputError, match=rf"Arrow cannot hold .*{message}"):
            pipeline.classify(frame, systems="cpv")
        with pytest.raises(pipeline.InputError, match=rf"Arrow cannot hold .*{message}"):
            pipeline.evaluate(frame, system="cpv", code_column="n")


def test_a_polars_frame_converts_to_pandas_and_survives_pickling(frame: Any) -> None:
    result = pipeline.classify(frame, systems="cpv", min_confidence=0)
    assert result.to_pandas()["cpv_status"].tolist() == ["ok", "empty", "no_match", "ok"]
    assert pickle.loads(pickle.dumps(result)).data.equals(result.data)
    assert (
        pipeline.classify(TEXTS, systems="cpv", min_confidence=0).to_polars()["cpv_code"].to_list()
        == CODES
    )


def test_columns_are_missing_or_taken_as_in_other_frames(frame: Any) -> None:
    with pytest.raises(pipeline.InputError, match="The table has no column 'text'"):
        pipeline.classify(frame, text_columns="text")
    with pytest.raises(pipeline.SettingsError, match="already has the column 'cpv_code'"):
        pipeline.classify(frame.rename({"kind": "cpv_code"}))


def test_a_duckdb_relation_becomes_a_table_that_duckdb_reads() -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select unnest(?) as description", params=[TEXTS])
    table = pipeline.classify(relation, systems="cpv").data
    found = duckdb.from_arrow(table).select("cpv_code").fetchall()
    assert [code for (code,) in found] == CODES


def test_a_polars_frame_is_trained_on_and_evaluated(frame: Any, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    texts, codes = history(40)
    labelled = polars.DataFrame({"description": texts, "cpv_code": codes})
    named: Any = {"system": "cpv", "code_column": "cpv_code"}
    model = pipeline.train(labelled, output=tmp_path / "model", only_history=True, **named)
    assert model.systems["cpv"].rows == 40
    assert pipeline.evaluate(labelled.lazy(), subject=model, **named).rows == 40
    with pytest.raises(pipeline.InputError, match="no column 'cpv_code'"):
        pipeline.evaluate(frame["description"], **named)


PAGE = page("how-to/engines")

ENGINES = {
    "Polars": "polars",
    "DuckDB": "duckdb",
    "Ray": "ray",
    "Daft": "daft",
    "Dask": "dask",
}
"""The sections of the page, and the module without which each is skipped."""

needs_one_process = pytest.mark.skipif(
    "PYTEST_XDIST_WORKER" in os.environ, reason="classifies 20,000 rows: run this file with -n 0"
)


def test_every_section_of_the_page_is_tested() -> None:
    assert [line[3:] for line in PAGE.splitlines() if line.startswith("## ")] == list(ENGINES)
    assert len(blocks(PAGE, "python")) == 1 + len(ENGINES)


@needs_one_process
@pytest.mark.parametrize("engine", ["pyarrow", *ENGINES])
def test_a_recipe_has_the_columns_of_run(
    engine: str, folder: Path, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    module = ENGINES.get(engine, engine)
    if find_spec(module) is None:
        pytest.skip(f"needs {engine}: pip install {module}")
    recipe = dict(zip(["pyarrow", *ENGINES], blocks(PAGE, "python"), strict=True))[engine]
    if engine == "Ray":  # which waits for ever on two processors, as the page says
        recipe = f"import ray\nray.init(num_cpus=4)\n{recipe}"
    (tmp_path / "tenders.parquet").symlink_to(folder / "tenders.parquet")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", recipe],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert rows_of(tmp_path / "coded.parquet") == expected
