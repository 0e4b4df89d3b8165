"""Models on the command line: `tender-pipeline train`, and runs with what it made."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.answers import Explained, System
from pipeline.codes import load
from pipeline.engine import Engine
from pipeline.engine.model import ModelFolder, load_model, model_folder, save
from tests.cli.conftest import Capture, Command
from tests.engine.model.training_data import history, taught


def written(path: Path, rows: list[tuple[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("description", "code"), *rows])
    return path


def rows(number: int = 40) -> list[tuple[str, str]]:
    return list(zip(*history(number), strict=True))


ONLY = ("--system", "cpv", "--output", "model", "--only-history")


def test_rows_that_cannot_be_learned_from_are_counted_and_named(
    command: Command, tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    bad = [("", "03111000"), ("text", ""), ("text", "99999999"), ("text", "99999999-1")]
    odd = [("wheat", "03111000-2"), ("road", "4523314"), ("clean", " 90910000 ")]
    path = written(tmp_path / "h.csv", rows() + bad + odd)
    assert command("train", path, *ONLY, "--json") == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["rows"], about["learned_rows"]) == (47, 43)
    assert (about["rows_without_text"], about["rows_without_code"]) == (1, 1)
    assert about["unknown_codes"] == {"99999999": 1, "99999999-1": 1}
    assert "2 rows whose code the cpv table lacks" in caplog.text
    assert "1 row without text" in caplog.text


def retiring() -> list[tuple[str, str]]:
    """Return 40 rows of retired codes: of one successor, of none, and of the same one."""
    said = [("web application", "D302"), ("landline phones", "D304"), ("code review", "d308")]
    return [(f"{text} {number}", code) for number in range(10) for text, code in said] + [
        ("office chairs", "7110")
    ] * 10


def test_a_retired_code_is_learned_as_its_successor_or_left_out_and_named(
    command: Command, tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "h.csv", [*retiring(), ("text", "ZZZZ")])
    given = ("--system", "psc", "--output", "model", "--only-history", "--json")
    assert command("train", path, *given) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["retired_codes"] == {
        "D302": {"rows": 10, "until": "2020-10-29", "successor": "DA01"},
        "D304": {"rows": 10, "until": "2020-10-29", "successor": None},
        "D308": {"rows": 10, "until": "2020-10-29", "successor": "DA01"},
    }
    assert about["unknown_codes"] == {"ZZZZ": 1}
    assert (about["rows"], about["learned_rows"]) == (41, 30)
    model = load_model(model_folder(Path("model")), "psc")
    assert (model.codes.tolist(), model.only_history) == (["7110", "DA01"], True)
    said = [record.getMessage() for record in caplog.records]
    assert (
        "learned as its successor: 20 rows whose psc code is retired: "
        "D302 (10, until 2020-10-29, now DA01), D308 (10, until 2020-10-29, now DA01)"
    ) in said
    assert (
        "skipped: 10 rows whose psc code is retired, with no successor known: "
        "D304 (10, until 2020-10-29)"
    ) in said


def test_many_unknown_and_retired_codes_are_named_in_part(
    command: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unknown = [("text", f"ZZ{number}") for number in range(10, 22)]
    kept = [("text", f"{letter}{number}") for letter in "EY" for number in range(231, 238)]
    path = written(tmp_path / "h.csv", [*retiring(), *unknown, *kept])
    assert command("train", path, "--system", "psc", "--output", "model", "--only-history") == 0
    said = [record.getMessage() for record in caplog.records]
    (line,) = (line for line in said if "table lacks" in line)
    assert line.endswith("ZZ19 (1) and 2 more")
    (line,) = (line for line in said if "learned as" in line)
    assert line.endswith(" and 6 more")


def test_a_history_answers_beside_the_shipped_model_unless_it_is_to_answer_alone(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    table = load("psc")
    titles = [(table.titles[code], code) for code in ("7110", "7210", "8305")] * 8
    path = written(tmp_path / "h.csv", titles)
    assert command("train", path, "--system", "psc", "--output", "model", "--json") == 0
    about = json.loads(capsys.readouterr().out)
    assert about["codes_from_examples"] == 3
    assert about["codes"] > 2_000
    assert 0 < about["weight_of_the_history"] < 1
    alone = ("--output", "alone", "--only-history", "--json")
    assert command("train", path, "--system", "psc", *alone) == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["codes"], about["weight_of_the_history"]) == (3, 1)


def test_a_model_trained_beside_other_models_than_these_says_so(
    command: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path / "h.csv", rows())
    assert command("train", path, "--system", "cpv", "--output", "model") == 0
    load_model(model_folder(Path("model")), "cpv")
    assert "beside another model" not in caplog.text
    about = json.loads(Path("model/model.json").read_text("utf-8"))
    about["systems"]["cpv"]["beside"] = "0" * 64
    Path("model/model.json").write_text(json.dumps(about), "utf-8")
    load_model(model_folder(Path("model")), "cpv")
    assert "trained beside another model of the package" in caplog.text


NUMBERS = [(str(number), code) for number, (_, code) in enumerate(rows())]


@pytest.mark.parametrize(
    ("history", "options", "said"),
    [
        (
            None,
            ("--output", "model"),
            "The table and the system are missing.\nGive a table with the right codes, or "
            "--decisions FILE; and --system: cpv, psc, unspsc, naics.",
        ),
        (rows(), ("--output", "model"), "The system is missing.\nGive --system: cpv, psc,"),
        (rows(19), ONLY, "has 19 rows of 19 to learn from, and 20 are needed"),
        (NUMBERS, ONLY, "have no words"),
        (rows(), (*ONLY, "--code-column", "Code"), "Did you mean 'code'?"),
        (rows(), (*ONLY, "--text-column", "x"), "Use --text-column 'description'."),
        ([("wheat", "0.5")], ONLY, "Choose another column: --code-column NAME."),
    ],
)
def test_what_cannot_be_learned_from_is_an_error_and_leaves_no_folder(
    command: Command,
    tmp_path: Path,
    capsys: Capture,
    history: list[tuple[str, str]] | None,
    options: tuple[str, ...],
    said: str,
) -> None:
    given = [] if history is None else [written(tmp_path / "h.csv", history)]
    if said.startswith("Choose another column"):
        given = [tmp_path / "h.parquet"]
        pq.write_table(pa.table({"description": ["wheat"], "code": [0.5]}), given[0])
    assert command("train", *given, *options) == 2
    assert said in capsys.readouterr().err
    assert not Path("model").exists()


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
