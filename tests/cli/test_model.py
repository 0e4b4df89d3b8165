"""`tender-pipeline run --model` as a user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.answers import Explained, System
from pipeline.engine import Engine
from pipeline.engine.model import ModelFolder, model_folder, save
from tests.cli.conftest import Capture, Command
from tests.engine.model.training_data import taught


@pytest.fixture
def model(tmp_path: Path) -> Path:
    ok = {"confidence": 0.5, "right_at_least": 0.7}
    save([taught().model], tmp_path / "model", {"held_back": {"ok": ok}})
    return tmp_path / "model"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("description\nwheat grain barley\nжюфц\n", "utf-8")
    return path


def codes(output: Path) -> list[str]:
    with output.open(newline="", encoding="utf-8") as file:
        return [row["cpv_code"] for row in csv.DictReader(file)]


def test_the_model_answers_for_its_system_and_is_named_in_the_manifest(
    command: Command, model: Path, table: Path
) -> None:
    assert command("run", table, "--systems", "cpv,psc", "--model", model.name) == 0
    assert codes(Path("outputs/t.classified.csv")) == ["03111000", ""]
    said = json.loads(Path("outputs/t.classified.csv.manifest.json").read_text("utf-8"))
    assert said["settings"]["models"] == {str(model): model_folder(model).sha256}


@pytest.mark.parametrize("explain", [False, True])
def test_two_processes_answer_by_the_model_as_one_does(model: Path, explain: bool) -> None:
    batches = [["wheat barley", "", "wheat barley"], ["paving of a road"], ["жюфц"], []]
    models: dict[System, ModelFolder] = {"cpv": model_folder(model)}
    one, two = (
        list(Engine(["cpv"], 3, jobs, models, explain=explain).answers(batches)) for jobs in (1, 2)
    )
    assert one == two
    assert any(isinstance(answer, Explained) for answer in one[0]["cpv"]) == explain


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--model model --systems psc", "is a model of cpv, which is not asked for"),
        ("--model model --model model", "are both models of cpv"),
        ("--model model --model nowhere", "nowhere does not exist"),
        ("--model nowhere", "made of your own history: --model DIR."),
        ("--model model --base-url http://localhost:9", "--model is for the embedded engine"),
        (
            "--explain --base-url http://localhost:9",
            "Remove --explain, or the service (--base-url).",
        ),
    ],
)
def test_engines_and_models_that_cannot_be_used_are_refused_before_the_work(
    command: Command, model: Path, table: Path, capsys: Capture, options: str, said: str
) -> None:
    assert command("run", table, *options.split()) == 2
    assert said in capsys.readouterr().err
    assert not Path("outputs").exists()


def test_a_frame_is_answered_by_a_model_too(model: Path) -> None:
    frame = pd.DataFrame({"description": ["wheat grain barley", "жюфц"]})
    for models in (str(model), model, [model]):
        result = pipeline.classify(frame, systems="cpv", models=models)
        assert result.table["cpv_code"].to_pylist() == ["03111000", None]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"models": 5}, "models must be the folder"),
        ({"models": [b"model"]}, "models must be the folder"),
        ({"explain": "yes"}, "explain must be True or False."),
    ],
)
def test_what_cannot_answer_a_frame_is_refused_with_a_hint(
    options: dict[str, Any], hint: str
) -> None:
    frame = pd.DataFrame({"description": ["wheat"]})
    with pytest.raises(pipeline.SettingsError) as refusal:
        pipeline.classify(frame, **{"systems": "cpv"} | options)
    assert hint in str(refusal.value)


def test_the_words_for_a_match_are_the_last_of_its_columns(
    command: Command, model: Path, table: Path
) -> None:
    table.write_text("description\nWheat and barley\n!!\n\nsupply\n", "utf-8")
    options = ("--model", model, "--systems", "cpv,psc", "--top", "2", "--explain")
    assert command("run", table, *options, "--output", "t.parquet") == 0
    assert command("run", table, *options, "--output", "why.csv") == 0
    found = pq.read_table("t.parquet")
    names = found.column_names
    assert names.index("cpv_why") == names.index("cpv_matches") + 1
    assert set(str(found["cpv_why"][0]).split(", ")) == {"Wheat", "barley"}
    assert found["cpv_why"].to_pylist()[1] is None
    with Path("why.csv").open(newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    assert [row["cpv_why"] for row in written] == [
        why or "" for why in found["cpv_why"].to_pylist()
    ]
    assert "Wheat" in written[0]["psc_why"]
