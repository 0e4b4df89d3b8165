"""`pipeline.train` as a script or a notebook uses it."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline.cli.commands.train import train as command
from tests.engine.model.training_data import history


def frame(rows: int = 40) -> pd.DataFrame:
    texts, codes = history(rows)
    return pd.DataFrame({"description": texts, "cpv_code": codes}, index=range(5, 5 + rows))


ONLY: dict[str, Any] = {"system": "cpv", "code_column": "cpv_code", "only_history": True}


def test_a_frame_makes_the_model_and_the_figures_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = pipeline.train(frame(), output=tmp_path / "model", **ONLY)
    assert capsys.readouterr() == ("", "")
    path = tmp_path / "h.csv"
    frame().to_csv(path, index=False)
    columns = ["--system", "cpv", "--code-column", "cpv_code", "--only-history"]
    other = ["--output", str(tmp_path / "other"), "--json"]
    command.main([str(path), *columns, *other], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == made.figures
    one, two = (tmp_path / folder / "model.json" for folder in ("model", "other"))
    assert one.read_bytes() == two.read_bytes()  # with the checksums of the arrays
    figures = made.systems["cpv"]
    assert (figures.rows, figures.learned_rows, figures.held_out_rows) == (40, 40, 4)
    assert figures.accuracy[10] == made.figures["held_back"]["right"]["10"]
    assert repr(made).startswith("cpv: learned 40 rows with 3 codes")


def test_the_model_classifies_and_is_evaluated_without_naming_its_folder(tmp_path: Path) -> None:
    made = pipeline.train(pa.Table.from_pandas(frame()), output=tmp_path / "model", **ONLY)
    table = frame().drop(columns="cpv_code")
    found = pipeline.classify(table, systems="cpv", models=made, min_confidence=0).to_pandas()
    assert set(found["cpv_code"]) <= {"03111000", "45233140", "90910000"}
    measured = pipeline.evaluate(found, system="cpv", code_column="cpv_code", subject=made)
    assert measured.subjects[0].kind == "model"
    assert measured.rows == 40


def test_a_progress_display_sees_the_whole_work(tmp_path: Path) -> None:
    seen = []

    @contextmanager
    def display(total: int) -> Any:
        done: list[int] = []
        yield done.append
        seen.append((total, sum(done)))

    pipeline.train(frame(), output=tmp_path / "model", progress=display, **ONLY)
    ((total, done),) = seen
    assert total == done > 0


def test_rows_that_are_skipped_are_named_and_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = pd.DataFrame({"description": ["", "text", "text"], "cpv_code": ["03111000", None, "1"]})
    table = pd.concat([frame(), more])
    made = pipeline.train(table, output=tmp_path / "model", **ONLY)
    assert made.skipped[:2] == ["skipped: 1 row without text", "skipped: 1 row without a code"]
    assert "(1)" in made.skipped[2]
    assert made.skipped[0] in str(made)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"system": None}, pipeline.SettingsError, "The system of the codes is not given."),
        ({"system": "icd"}, pipeline.SettingsError, "Choose from cpv"),
        ({"data": None}, pipeline.SettingsError, "There is no history."),
        ({"recipe": "r.toml"}, pipeline.SettingsError, "Both a history and a recipe"),
        ({"recipe": "r.toml", "data": None}, pipeline.SettingsError, "Leave system and only"),
        ({"recipe": 5, "data": None, "system": None, "only_history": False}, None, "a path"),
        ({"jobs": 0}, pipeline.SettingsError, "jobs must be a whole number"),
        ({"overwrite": "no"}, pipeline.SettingsError, "overwrite must be True or False"),
        ({"output": None}, pipeline.SettingsError, "output must be a path"),
        ({"code_column": "codes"}, pipeline.InputError, 'Use code_column="cpv_code".'),
        ({"data": ["road"] * 30}, pipeline.InputError, "has no column 'cpv_code'"),
        ({"data": frame(19)}, pipeline.InputError, "19 rows of 19 to learn from"),
        ({"data": 7}, pipeline.SettingsError, "not a table"),
    ],
)
def test_wrong_arguments_are_errors_that_name_arguments_and_leave_no_folder(
    tmp_path: Path, arguments: dict[str, Any], error: type[Exception] | None, said: str
) -> None:
    given: dict[str, Any] = {"data": frame(), "output": tmp_path / "model", **ONLY, **arguments}
    with pytest.raises(error or pipeline.SettingsError) as refusal:
        pipeline.train(given.pop("data"), **given)
    assert said in f"{refusal.value.message} {refusal.value.hint}"  # type: ignore[attr-defined]
    assert "--" not in refusal.value.hint  # type: ignore[attr-defined]
    assert not (tmp_path / "model").exists()


def test_a_folder_that_is_no_model_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(pipeline.OutputError, match="is no model of this tool"):
        pipeline.train(tmp_path / "not there.csv", output=tmp_path, system="cpv")
