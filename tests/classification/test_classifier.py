"""The classifier object: the same values in any batch, small when pickled, models loaded once."""

from __future__ import annotations

import csv
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pipeline
from pipeline.codes.unspsc_file import add
from pipeline.engine.model.folder import SHIPPED
from pipeline.versions import VERSIONS

ROOT = Path(__file__).parents[2]
OPTIONS: dict[str, Any] = {"systems": ["psc", "naics"], "top": 3, "roll_up": 0.6, "explain": True}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """The sample, with a row without text, another column, and repeated texts."""
    with (ROOT / "sample_inputs" / "tenders.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["description"] for row in csv.DictReader(file)][:20]
    texts = [*texts, None, " ", *texts[:5]]
    return pa.table({"description": texts, "n": range(len(texts))}, metadata={"owner": "us"})


@pytest.fixture(scope="module")
def classifier() -> pipeline.Classifier:
    return pipeline.Classifier(**OPTIONS)


@pytest.fixture(scope="module")
def expected(table: pa.Table) -> pa.Table:
    """What `classify` returns, without its note of the job's cost."""
    found = pipeline.classify(table, **OPTIONS).table
    return found.replace_schema_metadata(table.schema.metadata)


def test_a_table_gets_the_columns_of_classify(
    classifier: pipeline.Classifier, table: pa.Table, expected: pa.Table
) -> None:
    found = classifier(table)
    assert found.equals(expected, check_metadata=True)
    assert found.schema.equals(classifier.output_schema(table.schema), check_metadata=True)


@pytest.mark.parametrize("cuts", [[0, 27], [0, 0, 1, 2, 3, 3, 10, 27], [0, 26, 27]])
def test_every_cut_into_batches_has_the_same_values(
    classifier: pipeline.Classifier, table: pa.Table, expected: pa.Table, cuts: list[int]
) -> None:
    assert cuts[-1] == table.num_rows
    whole = table.combine_chunks().to_batches()[0]
    batches = [whole.slice(start, end - start) for start, end in pairwise(cuts)]
    alone = [classifier(batch) for batch in batches]
    assert [batch.num_rows for batch in alone] == [batch.num_rows for batch in batches]
    assert pa.Table.from_batches(alone).equals(expected)
    assert pa.Table.from_batches(classifier.map(batches)).equals(expected)


def test_no_rows_and_no_batches_have_no_answers(
    classifier: pipeline.Classifier, table: pa.Table
) -> None:
    none = classifier(table.slice(0, 0))
    assert none.num_rows == 0
    assert none.schema == classifier.output_schema(table.schema)
    assert list(classifier.map([])) == []


def test_a_stream_is_cut_into_small_batches() -> None:
    classifier = pipeline.Classifier(systems="psc")
    batch = pa.RecordBatch.from_pydict({"description": ["chairs"] * 2500})
    assert [piece.num_rows for piece in classifier.map([batch])] == [1024, 1024, 452]


LOADING = """
import pickle, sys
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
pickled = sys.stdin.buffer.read()
import pyarrow as pa
batch = pa.RecordBatch.from_pydict({"description": ["Office chairs", "Road marking"]})
for _ in range(3):
    classifier = pickle.loads(pickled)
    assert len(list(classifier.map([batch, batch]))) == 2
arrays = [path for path in opened if path.endswith(".npy")]
print(len(arrays), len(set(arrays)))
"""
"""Prints how many arrays of models a process opened, and how many different ones."""


def test_a_pickled_classifier_is_small_and_loads_its_models_once_in_a_process() -> None:
    classifier = pipeline.Classifier(systems="psc", top=3)
    assert repr(classifier) == "Classifier(systems=('psc',), top=3)"
    pickled = pickle.dumps(classifier)
    assert len(pickled) < 1000
    done = subprocess.run([sys.executable, "-c", LOADING], input=pickled, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    loaded, distinct = map(int, done.stdout.split())
    assert loaded == distinct > 5


def test_a_machine_with_another_version_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = pipeline.Classifier(systems="psc")
    monkeypatch.setitem(VERSIONS, "tender-pipeline", "9.9")
    with pytest.raises(pipeline.EngineError, match=r"is 9\.9, but .* made with .*Install the same"):
        classifier(pa.table({"description": ["chairs"]}))


@pytest.mark.usefixtures("models_of_other_codes")
def test_a_machine_with_another_code_table_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = pipeline.Classifier(systems="unspsc")
    file = tmp_path / "codes.csv"
    file.write_text("Code,Title\n56101504,Chairs\n")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    add(file)
    batches = [pa.RecordBatch.from_pydict({"description": ["chairs"]})]
    with pytest.raises(pipeline.EngineError, match=r"The unspsc code table of .* the package's"):
        list(classifier.map(batches))
    again = pickle.loads(pickle.dumps(pipeline.Classifier(systems="unspsc")))
    assert next(again.map(batches))["unspsc_code"].to_pylist() == ["56101504"]


def test_a_model_is_found_in_a_process_with_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").symlink_to(SHIPPED)
    monkeypatch.chdir(tmp_path)
    classifier = pipeline.Classifier(systems="psc", models="model")
    monkeypatch.chdir("/")
    assert classifier(pa.table({"description": ["Office chairs"]}))["psc_code"][0].as_py()


def test_a_machine_without_the_model_refuses(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.symlink_to(SHIPPED)
    classifier = pipeline.Classifier(systems="psc", models=model)
    model.unlink()
    with pytest.raises(pipeline.EngineError, match=r"has no model .*Copy the folder"):
        classifier(pa.table({"description": ["chairs"]}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["chairs"], "data is of the type list, not a table"),
        (pa.table({"n": [1]}), r"has no column 'description'.*text_columns"),
        (pa.table({"description": [{"n": 1}]}), "has the type struct<n: int64>, not text"),
        (pa.table({"description": ["a"], "cost_usd": [1]}), r"column_prefix=\"new_\""),
    ],
)
def test_a_wrong_table_is_one_clear_error(
    classifier: pipeline.Classifier, data: pa.Table, message: str
) -> None:
    with pytest.raises(pipeline.PipelineError, match=message):
        classifier(data)
    if isinstance(data, pa.Table):
        with pytest.raises(pipeline.PipelineError, match=message):
            classifier.output_schema(data.schema)
        with pytest.raises(pipeline.PipelineError, match=message):
            list(classifier.map(data.to_batches()))


BATCH = pa.RecordBatch.from_pydict({"description": ["Road marking"], "buyer": ["Chairs Ltd"]})


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([BATCH, BATCH.select([1, 0])], "columns 'buyer', 'description', and the first"),
        ([BATCH.to_pandas()], "batches holds a DataFrame, not a pyarrow RecordBatch"),
        (pa.table(BATCH.to_pydict()), "batches holds a ChunkedArray"),
    ],
)
def test_what_is_no_batch_or_has_other_columns_is_refused(batches: Any, message: str) -> None:
    classified = pipeline.Classifier(systems="psc").map(batches)
    with pytest.raises(pipeline.InputError, match=message):
        list(classified)


def test_what_offers_an_arrow_stream_comes_back_as_a_table(table: pa.Table) -> None:
    class Stream:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            stream: object = table.__arrow_c_stream__(requested_schema)
            return stream

    classifier = pipeline.Classifier(systems="psc")
    assert classifier(Stream()).equals(classifier(table))


def test_a_part_of_a_table_whose_cells_lack_a_field_has_empty_rows() -> None:
    classifier = pipeline.Classifier(systems=["cpv"], text_columns="buyer.city")
    found = classifier(pa.table({"buyer": ['{"name": "Town"}']}))
    assert found.column("cpv_status").to_pylist() == ["empty"]
