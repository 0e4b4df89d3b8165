"""Commands that read the decisions of a review."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import pipeline
from tests.cli.conftest import Capture, Command
from tests.decisions.samples import chose, nothing_fits, write
from tests.engine.model.training_data import history


def decisions_of(folder: Path) -> Path:
    return write(
        folder / "d.jsonl",
        [
            chose("Road marking", "5610", system="psc"),
            nothing_fits("Office chairs", system="psc"),
        ],
    )


def test_run_writes_decisions_into_the_same_columns(
    command: Command, table: Path, capsys: Capture
) -> None:
    found = decisions_of(table.parent)
    options = ["--systems", "psc", "--explain", "--top", "2", "--output", "out.csv"]
    report = ["--report", "r.html"]
    assert command("run", table, *options, *report, "--decisions", found) == 0
    assert "decided" in capsys.readouterr().out
    out = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    assert out["psc_status"].tolist() == ["decided", "empty", "decided"]
    assert out["psc_code"].tolist() == ["5610", "", ""]
    assert out["psc_confidence"].tolist() == ["1.0", "", ""]
    assert out["psc_why"][0] == "decided by Anna"
    assert len(json.loads(out["psc_matches"][0])) == 2
    assert json.loads(out["psc_matches"][2]) == []
    manifest = json.loads(Path("out.csv.manifest.json").read_text())
    assert list(manifest["settings"]["decisions"]) == [str(found)]
    assert manifest["summary"]["systems"]["psc"]["decided"] == 2
    assert manifest["summary"]["to_check"] == 0
    assert "Decided: a person chose the code." in Path("r.html").read_text("utf-8")


def test_conflicts_are_listed_and_neither_side_is_used(
    command: Command, table: Path, capsys: Capture
) -> None:
    other = [chose("Office chairs", "7110", system="psc", by="Ben")]
    files = [decisions_of(table.parent), write(table.with_name("e.jsonl"), other)]
    options = [word for file in files for word in ("--decisions", file)]
    assert command("run", table, "--systems", "psc", "--output", "out.csv", *options) == 0
    assert "psc 'Office chairs': Anna: none fits; Ben: 7110" in capsys.readouterr().err
    out = pd.read_csv("out.csv", dtype=str)
    assert out["psc_status"].tolist()[::2] == ["decided", "ok"]


def test_a_wrong_file_is_an_error_before_anything_is_written(
    command: Command, table: Path, capsys: Capture
) -> None:
    assert command("run", table, "--decisions", table) == 2
    assert "neither decisions nor columns of codes" in capsys.readouterr().err
    assert command("run", table, "--decisions", "gone.xlsx") == 2
    said = (
        "gone.xlsx cannot be read: No such file or directory.\nGive what tender-pipeline review has"
    )
    assert f"{said} written, or an output of run with corrected codes." in capsys.readouterr().err
    assert not Path("outputs").exists()


def test_python_takes_the_same_decisions(tmp_path: Path) -> None:
    frame = pd.DataFrame({"description": ["Road marking", "Office chairs"]})
    found = decisions_of(tmp_path)
    result = pipeline.classify(frame, systems="psc", decisions=found)
    assert result.to_pandas()["psc_status"].tolist() == ["decided", "decided"]
    assert result.to_review().empty
    assert result.summary.systems["psc"].median_confidence is None
    found.write_bytes(found.read_bytes()[:-5])
    with pytest.warns(UserWarning, match="is incomplete and is ignored"):
        result = pipeline.classify(frame, systems="psc", decisions=[found])
    assert result.to_pandas()["psc_status"].tolist()[0] == "decided"


def reviewed(folder: Path) -> Path:
    """Write decisions about 40 texts of three codes, and one more of each kind that is left out."""
    texts, codes = history(40)
    return write(
        folder / "d.jsonl",
        [
            *(chose(text, code) for text, code in zip(texts, codes, strict=True)),
            nothing_fits("something else"),
            chose("many at once", "45233140", batch="1"),
        ],
    )


TRAIN = ("train", "--system", "cpv", "--output", "model", "--only-history")


def test_decisions_correct_and_complete_a_history(
    command: Command, tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    texts, codes = history(40)
    lines = [f"{text},{code}" for text, code in zip(texts, codes, strict=True)]
    Path("h.csv").write_text("\n".join(["description,code", *lines]) + "\n")
    found = [chose(texts[0], "66110000"), nothing_fits(texts[1]), chose("another one", "66110000")]
    options = ("h.csv", "--decisions", write(tmp_path / "d.jsonl", found))
    assert command(*TRAIN, *options) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "cpv: learned 40 rows with 4 codes, can answer with 4"
    assert last == "model: model"
    assert "1 row without a code" in caplog.text


def test_python_and_the_command_make_the_same_model_of_decisions(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    found = reviewed(tmp_path)
    assert command(*TRAIN, "--decisions", found, "--json") == 0
    about = json.loads(capsys.readouterr().out)
    model = pipeline.train(decisions=found, system="cpv", output="other", only_history=True)
    assert model.figures == about
    assert about["learned_rows"] == 41
    one, two = (Path(folder, "model.json").read_bytes() for folder in ("model", "other"))
    assert one == two  # with the checksums of the arrays


def test_too_few_decisions_are_a_clear_error(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    few = write(tmp_path / "d.jsonl", [chose("road", "45233140")])
    assert command(*TRAIN, "--decisions", few) == 2
    said = capsys.readouterr().err
    assert f"{few} has codes for 1 cpv text, and 20 are needed." in said
    assert "decide more cpv texts" in said


def test_evaluation_measures_with_the_decisions_that_were_made_one_by_one(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    found = reviewed(tmp_path)
    assert command("evaluate", "--system", "cpv", "--decisions", found) == 0
    assert f"cpv, 41 rows of {found}\n" in capsys.readouterr().out
    measured = pipeline.evaluate(decisions=found, system="cpv")
    assert measured.rows == 41, "that no code fits is a verdict, too"


def test_evaluation_takes_labels_of_one_kind(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    found = reviewed(tmp_path)
    assert command("evaluate", "--system", "cpv") == 2
    assert command("evaluate", found, "--system", "cpv", "--decisions", found) == 2
    assert "or --decisions FILE" in capsys.readouterr().err
    assert command("evaluate", "--system", "psc", "--decisions", found) == 2
    assert "No decision about psc can be used as a label" in capsys.readouterr().err
