"""`tender-pipeline train` as a user meets it."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cli import main
from pipeline.codes import load
from pipeline.engine.learned import load_model, model_folder
from tests.engine.learned.lessons import history

Command = Callable[..., int]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["tender-pipeline", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        return int(exit_.value.code or 0)

    return call


def written(path: Path, rows: list[tuple[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("description", "code"), *rows])
    return path


def rows(number: int = 40) -> list[tuple[str, str]]:
    return list(zip(*history(number), strict=True))


ONLY = ("--system", "cpv", "--output", "model", "--only-history")


def test_a_history_becomes_a_model_and_a_summary(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("train", written(tmp_path / "h.csv", rows()), *ONLY) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("learned 40 of 40 rows: 3 codes from examples, 0 from")
    assert lines[1].startswith("held back 4 rows")
    assert lines[-1] == "model: model"
    model = load_model(model_folder(Path("model")))
    assert model.codes.tolist() == ["03111000", "45233140", "90910000"]
    assert model.only_history


def test_rows_that_cannot_be_learned_from_are_counted_and_named(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
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
    assert "for want of text: 1 row" in caplog.text


def test_titles_are_taught_along_unless_only_the_history_is_wanted(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = load("psc")
    titles = [(table.titles[code], code) for code in ("7110", "7210", "8305")] * 8
    path = written(tmp_path / "h.csv", titles)
    assert command("train", path, "--system", "psc", "--output", "model", "--json") == 0
    about = json.loads(capsys.readouterr().out)
    assignable = sum(table.assignable(code) for code in table.titles)
    assert (about["codes"], about["codes_by_title"]) == (3, assignable - 3)


def test_parquet_whose_codes_are_numbers_keeps_its_leading_zeros(
    command: Command, tmp_path: Path
) -> None:
    texts, codes = history(40)
    table = pa.table({"description": texts, "code": [int(code) for code in codes]})
    pq.write_table(table, tmp_path / "h.parquet")
    assert command("train", tmp_path / "h.parquet", *ONLY) == 0
    assert "03111000" in load_model(model_folder(Path("model"))).codes.tolist()


def test_too_few_rows_are_an_error_and_leave_no_folder(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("train", written(tmp_path / "h.csv", rows(19)), *ONLY) == 2
    said = capsys.readouterr().err
    assert "has 19 rows of 19 to learn from, and 20 are needed" in said
    assert "--code-column" in said
    assert not Path("model").exists()


def test_a_column_that_is_not_there_is_an_error_with_a_suggestion(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "h.csv", rows())
    assert command("train", path, *ONLY, "--code-column", "Code") == 2
    assert "Did you mean 'code'?" in capsys.readouterr().err


def test_a_folder_that_is_no_model_is_refused_before_any_work(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("x")
    assert command("train", tmp_path / "not there.csv", *ONLY) == 2
    assert "is no model of this tool" in capsys.readouterr().err
