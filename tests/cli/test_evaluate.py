"""`tender-pipeline evaluate` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.engine.model import model_folder, save
from tests.cli.conftest import Capture, Command
from tests.engine.model.training_data import history, taught
from tests.evaluation.labels import csv_file


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    return csv_file(tmp_path / "labelled.csv")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save([taught().model], tmp_path / "model", {})
    return tmp_path / "model"


CPV = ("--system", "cpv")


def test_the_engine_is_evaluated_where_no_other_is_named(
    command: Command, labelled: Path, capsys: Capture
) -> None:
    assert command("evaluate", labelled, *CPV, "--source-column", "lang") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"cpv, 6 rows of {labelled}\n")
    assert "embedded engine\n" in said
    assert "best code is a bare division" in said
    assert "\nde " in said
    assert "not in the code table, judged by level: 1 row: 45999999 (1)" in said
    assert "skipped, malformed code: 1 row: road (1)" in said


def test_with_json_what_is_left_out_is_logged_beside_it(
    command: Command, labelled: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    assert command("evaluate", labelled, *CPV, "--json") == 0
    assert json.loads(capsys.readouterr().out)["left_out"]["no_codes"] == {"road": 1}
    assert "skipped, malformed code: 1 row: road (1)" in caplog.text


def test_a_table_without_names_has_numbers_for_columns(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "t.csv").write_text("roads;45233140\n")
    columns = ("--text-column", "1", "--code-column", "2")
    assert command("evaluate", "t.csv", *CPV, *columns, "--no-header", "--delimiter", ";") == 0
    assert "cpv, 1 row of t.csv" in capsys.readouterr().out


def test_it_warns_of_labels_that_are_the_answers_of_a_run(
    command: Command, table: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    """The engine always agrees with its own codes, and the error about `code` suggests them."""
    assert command("run", table, "--systems", "cpv", "--output", "o.csv") == 0
    named = ("--code-column", "cpv_code")
    assert command("evaluate", "o.csv", *CPV, *named) == 0
    said = "The column 'cpv_code' has what a run answered, right or wrong."
    assert said in capsys.readouterr().err + caplog.text
    Path("labelled.csv").write_text("description,cpv_code\nRoad marking,45233221\n")
    caplog.clear()
    assert command("evaluate", "labelled.csv", *CPV, *named) == 0
    assert "what a run answered" not in capsys.readouterr().err + caplog.text


def test_a_learned_model_is_evaluated(
    command: Command, model: Path, tmp_path: Path, capsys: Capture
) -> None:
    rows = [(text, code, "") for text, code in zip(*history(60, seed=9), strict=True)]
    path = csv_file(tmp_path / "t.csv", rows)
    assert command("evaluate", path, *CPV, "--model", model, "--json") == 0
    (subject,) = json.loads(capsys.readouterr().out)["subjects"]
    assert (subject["name"], subject["kind"]) == ("model model", "model")
    assert subject["model_sha256"] == model_folder(model).sha256
    assert subject["accuracy"]["full code"]["top_1"]["hits"] == 60
    assert subject["learned_rows"] == 0


def test_it_says_if_a_model_was_trained_on_the_rows(
    command: Command, model: Path, tmp_path: Path, capsys: Capture
) -> None:
    texts = [history(1)[0][0].upper(), "wheat for the harbour"]
    path = csv_file(tmp_path / "t.csv", [(text, "45233140", "") for text in texts])
    assert command("evaluate", path, *CPV, "--compare", "engine", model) == 0
    caveat = "But model model was trained on the texts of 1 of the 2 rows, and repeats"
    assert capsys.readouterr().out.count(caveat) == 1


def test_two_subjects_are_compared_on_the_same_sample(
    command: Command, model: Path, tmp_path: Path, capsys: Capture
) -> None:
    rows = [(text, code, "") for text, code in zip(*history(200, seed=9), strict=True)]
    path = csv_file(tmp_path / "t.csv", rows)
    asked = ("evaluate", path, *CPV, "--compare", "engine", model, "--sample", "80", "--json")
    assert command(*asked) == 0
    found = json.loads(capsys.readouterr().out)
    a, b = found["subjects"]
    assert (a["name"], b["name"]) == ("embedded engine", "model model")
    assert found["rows"] == a["rows"] == b["rows"] == 80
    first = found["comparison"]["differences"][0]
    hits = [each["accuracy"]["full code"]["top_1"]["hits"] for each in (a, b)]
    assert first["b_alone"] - first["a_alone"] == hits[1] - hits[0]
    assert found["comparison"]["better"] == "b"
    assert command(*asked) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert command(*asked, "--seed", "1") == 0
    assert json.loads(capsys.readouterr().out) != found


def test_a_page_is_written_beside_what_is_printed(
    command: Command, labelled: Path, tmp_path: Path, capsys: Capture
) -> None:
    page = tmp_path / "reports" / "page.html"
    assert command("evaluate", labelled, *CPV, "--report", page, "--json") == 0
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert verdict.replace(" %", "\N{NO-BREAK SPACE}%") in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--compare", "engine", "nowhere"], "the folder of a model (./engine"),
        (["--compare", "http://localhost:9", "https://b.example"], "Both subjects are paid"),
        (["--compare", "engine", "ftp://me:secret@b.example"], "does not begin with https://"),
        (["--model", "model", "--compare", "engine", "model"], "each say what to evaluate"),
        (["--model", "nowhere"], "nowhere does not exist"),
        (["--sample", "0"], "--sample"),
        (["--code-column", "Code"], "Did you mean 'code'?"),
        (["--text-column", "x"], "Did you mean 'description'? Use --text-column 'description'."),
        (
            ["--text-column", "a", "--code-column", "b"],
            "has no column 'a' and no column 'b'. Its columns: ",
        ),
        (["--report", "mine.html"], "this tool did not write it"),
        (["--base-url", "http://localhost:9", "--max-cost", "much"], "--max-cost"),
        (["--max-cost", "1"], "--max-cost is for buying answers, and no paid service is named"),
        (["--compare", "engine", "model", "--wait"], "--wait is for buying answers"),
        (["--system", "psc", "--model", "model"], "is a model of cpv"),
    ],
)
def test_what_cannot_be_done_is_refused_before_the_work(
    command: Command, labelled: Path, model: Path, capsys: Capture, more: list[str], said: str
) -> None:
    Path("mine.html").write_text("mine")
    assert command("evaluate", labelled, *CPV, *more) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert "secret" not in printed.err
    assert printed.out == ""
    assert Path("mine.html").read_text() == "mine"
