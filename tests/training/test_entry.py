"""`pipeline.train` as a script uses it, and what it says of held-out rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractContextManager,
    chdir,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pipeline
from pipeline.cli.commands.train import train as command
from pipeline.codes import load, retirements
from pipeline.engine.training import Dataset, Examples, Trained, history_task
from pipeline.progress import Count
from pipeline.training import entry
from pipeline.training.run import about_model, flips, model_summary
from tests.engine.model.training_data import history, learned, taught


def frame(rows: int = 40) -> pd.DataFrame:
    texts, codes = history(rows)
    return pd.DataFrame({"description": texts, "cpv_code": codes}, index=range(5, 5 + rows))


ONLY: dict[str, Any] = {"system": "cpv", "code_column": "cpv_code", "only_history": True}


@dataclass(frozen=True)
class Made:
    """A model of a frame with three useless rows.

    Attributes:
        model: what `pipeline.train` returned.
        work: what the display of the progress was told: the total, and what was done.
        printed: what appeared on standard output and standard error.
    """

    model: pipeline.TrainedModel
    work: tuple[int, int]
    printed: str


def history_with_useless_rows() -> pd.DataFrame:
    more = pd.DataFrame({"description": ["", "text", "text"], "cpv_code": ["03111000", None, "1"]})
    return pd.concat([frame(), more])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    work = []

    @contextmanager
    def display(total: int) -> Iterator[Callable[[int], None]]:
        done: list[int] = []
        yield done.append
        work.append((total, sum(done)))

    folder, history = tmp_path_factory.mktemp("training"), history_with_useless_rows()
    with (
        chdir(folder),  # the tests use the model in another one
        StringIO() as printed,
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        model = pipeline.train(history, output="model", progress=display, **ONLY)
        return Made(model, work[0], printed.getvalue())


def test_a_frame_makes_the_model_and_the_figures_of_the_command(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "h.csv"
    history_with_useless_rows().to_csv(path, index=False)
    columns = ["--system", "cpv", "--code-column", "cpv_code", "--only-history"]
    other = ["--output", str(tmp_path / "other"), "--json"]
    command.main([str(path), *columns, *other], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == made.model.figures
    one, two = (folder / "model.json" for folder in (made.model.path, tmp_path / "other"))
    assert one.read_bytes() == two.read_bytes()  # with the checksums of the arrays
    figures = made.model.systems["cpv"]
    assert (figures.rows, figures.learned_rows, figures.held_out_rows) == (43, 40, 4)
    assert figures.accuracy[10] == made.model.figures["held_back"]["right"]["10"]


def test_the_model_classifies_and_is_evaluated_without_naming_its_folder(made: Made) -> None:
    table = pa.table({"description": frame()["description"]})
    found = pipeline.classify(table, systems="cpv", models=made.model, min_confidence=0).table
    assert {*found["cpv_code"].to_pylist()} <= {"03111000", "45233140", "90910000"}
    labelled = found.to_pandas().rename(columns={"cpv_code": "code"})
    measured = pipeline.evaluate(labelled, system="cpv", subject=made.model)
    assert measured.subjects[0].kind == "model"
    assert measured.rows == 40


def test_a_progress_display_sees_the_whole_work(made: Made) -> None:
    total, done = made.work
    assert total == done > 0


def test_rows_that_are_skipped_are_named_and_nothing_is_printed(made: Made) -> None:
    skipped = made.model.skipped
    assert skipped[:2] == ["skipped: 1 row without text", "skipped: 1 row without a code"]
    assert "(1)" in skipped[2]
    assert str(made.model).startswith(f"{skipped[0]}\n")
    assert "\ncpv: learned 40 rows with 3 codes" in repr(made.model)
    assert made.printed == ""


def test_the_progress_counts_reads_because_each_row_is_read_several_times(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown: list[tuple[int, str]] = []

    def display(total: int, unit: str = "rows") -> AbstractContextManager[Count]:
        shown.append((total, unit))
        raise InterruptedError

    monkeypatch.setattr(entry, "display_for", lambda _: display)
    with pytest.raises(InterruptedError):
        pipeline.train(frame(40), output=tmp_path / "model", **ONLY)
    ((total, unit),) = shown
    assert total > 40
    assert unit == "reads"


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"system": None}, pipeline.SettingsError, "The system is missing."),
        ({"system": "icd"}, pipeline.SettingsError, "Choose from cpv"),
        (
            {"data": None},
            pipeline.SettingsError,
            'The table is missing. Give a table with the right codes, or decisions="FILE".',
        ),
        (
            {"data": None, "system": None},
            pipeline.SettingsError,
            'decisions="FILE"; and system: cpv, psc, unspsc, naics.',
        ),
        ({"decisions": 7}, pipeline.SettingsError, "a list of paths"),
        ({"decisions": "not there"}, pipeline.InputError, "not there cannot be read"),
        ({"jobs": 0}, pipeline.SettingsError, "jobs must be a whole number"),
        ({"overwrite": "no"}, pipeline.SettingsError, "overwrite must be True or False"),
        ({"output": None}, pipeline.SettingsError, "output must be a path"),
        ({"code_column": "codes"}, pipeline.InputError, 'Use code_column="cpv_code".'),
        (
            {"code_column": "b", "text_columns": "a"},
            pipeline.InputError,
            "The frame has no column 'a' and no column 'b'.",
        ),
        ({"data": ["road"] * 30}, pipeline.InputError, "has no column 'cpv_code'"),
        ({"data": frame(19)}, pipeline.InputError, "19 rows of 19 to learn from"),
        ({"data": 7}, pipeline.SettingsError, "not a table"),
        ({"csv": pipeline.CsvOptions()}, pipeline.SettingsError, "csv and excel describe a file"),
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


def test_a_folder_without_a_model_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.txt").touch()
    with pytest.raises(pipeline.OutputError, match="is not a model of this tool"):
        pipeline.train(tmp_path / "not there.csv", output=tmp_path / "mine", system="cpv")


def test_the_codes_that_a_person_changed_in_a_table_are_counted(tmp_path: Path) -> None:
    source, path = tmp_path / "in.csv", tmp_path / "out.csv"
    frame()[["description"]].to_csv(source, index=False)
    pipeline.classify(source, output=path, systems="cpv")
    table = pd.read_csv(path, dtype=str)
    table.assign(cpv_code=frame()["cpv_code"].to_numpy()).to_csv(path, index=False)
    model = pipeline.train(decisions=path, output=tmp_path / "model", system="cpv")
    counts = model.corrections
    assert counts["changed"] > 20
    assert sum(counts.values()) == 40
    with pytest.warns(UserWarning, match="count as kept"):
        found = pipeline.evaluate(decisions=path, system="cpv")
    assert found.corrections == counts


HELD_BACK = {
    "rows": 40,
    "repeats": 0,
    "right": {"1": 0.5, "5": 0.6, "10": 0.7},
    "broad": 0.8,
    "ok": {"confidence": 0.4123, "rows": 0.25, "right": 0.8, "right_at_least": 0.67},
    "calibration_error": 0.01,
    "flips": {"changed": 0.1, "better": 0.02, "worse": 0.05},
}

FIGURES = {
    "system": "psc",
    "learned_rows": 10,
    "codes_from_examples": 3,
    "codes": 4,
    "weight_of_the_history": 1.0,
    "held_back": HELD_BACK,
}


def test_one_row_is_not_called_rows() -> None:
    figures: Any = {**FIGURES, "learned_rows": 1, "codes_from_examples": 1}
    figures["held_back"] = {**HELD_BACK, "rows": 1, "right": {"1": 0.0, "5": 0.0, "10": 1.0}}
    first, held_back, right, *_ = model_summary(figures, Path("m")).splitlines()
    assert first == "psc: learned 1 row with 1 code, can answer with 4"
    assert held_back.startswith("  held back 1 row;")
    assert (
        right
        == "  right code first: 0 of 1, among 5: 0 of 1, among 10: 1 of 1; right group: 1 of 1"
    )
    right = model_summary(FIGURES, Path("m")).splitlines()[2]
    assert "among 10: 70 %; right group: 80 %; " in right
    assert right.endswith("; calibration error 0.010")  # as evaluate calls it


def test_it_says_from_which_confidence_codes_are_ok_or_that_none_will_be() -> None:
    line = model_summary(FIGURES, Path("m")).splitlines()[3]
    assert line == (
        "  `ok` from a confidence of 0.41: 25 % of these rows, 80 % of them right as far as stated"
    )
    figures: Any = {**FIGURES, "held_back": {**HELD_BACK, "ok": {"confidence": None}}}
    line = model_summary(figures, Path("m")).splitlines()[3]
    assert line.startswith("  no code will be `ok`: the held-back rows do not show")
    assert line.endswith("train on more rows, or run with --min-confidence")


def test_the_same_model_flips_nothing() -> None:
    task = history_task("cpv", Examples.of(*history(300)), None)
    found = flips(taught(), task, taught().model)
    assert found["changed"] == found["better"] == found["worse"] == 0


def test_a_flip_is_better_worse_or_neither() -> None:
    """The previous model gives each text the code of the next field."""
    texts, codes = history(300)
    after = {"03111000": "45233140", "45233140": "90910000", "90910000": "03111000"}
    wrong = learned(texts, [after[code] for code in codes]).model
    task = history_task("cpv", Examples.of(texts, codes), None)
    held = replace(taught(), truth=task.held_back.codes)
    found = flips(held, task, wrong)
    assert found["changed"] == found["better"] == 1
    assert found["worse"] == 0
    previous = replace(held, found=held.found[:, ::-1], model=wrong)
    assert flips(previous, task, taught().model)["worse"] > 0.9


def ok_of(sure: list[float], right: list[bool]) -> dict[str, float | None]:
    """Return the threshold of a model with these held-out rows."""
    truth = np.array(["03111000"] * len(sure))
    first = np.where(right, truth, "45233140")
    found = np.column_stack([first, *[np.full(len(sure), "")] * 9])
    held = Trained(taught().model, taught().model, truth, found, np.array(sure), 0)
    task = history_task("cpv", Examples.of(*history(300)), None)
    task = replace(task, held_back=Examples.of(["wheat"] * len(sure), truth.tolist()))
    dataset = Dataset(load("cpv"), retirements("cpv"))
    ok: dict[str, float | None] = about_model(dataset, task, held, taught().model)["held_back"][
        "ok"
    ]
    return ok


NONE = {"confidence": None, "rows": 0.0, "right": 0.0, "right_at_least": 0.0}


def test_a_threshold_of_ok_needs_twenty_rows_that_show_two_in_three_right() -> None:
    assert ok_of([0.9] * 19, [True] * 19) == NONE
    assert ok_of([0.9] * 20, [True] * 20)["confidence"] == 0.9
    assert ok_of([0.9] * 20, [True] * 14 + [False] * 6) == NONE  # 70 %, but of 20 rows
    assert ok_of([0.9] * 1_000, [True] * 700 + [False] * 300)["confidence"] == 0.9
    assert ok_of([0.9] * 300, [True] * 200 + [False] * 100) == NONE  # two in three, by luck
    assert ok_of([0.99] * 37, [True] * 6 + [False] * 31) == NONE


def test_a_threshold_of_ok_counts_all_rows_at_or_above_it() -> None:
    """A row in two of those with the confidence of the threshold is wrong."""
    sure = [0.8] * 50 + [0.60004] * 10
    right = [True] * 48 + [False] * 2 + [True, False] * 5
    found = ok_of(sure, right)
    assert (found["confidence"], found["rows"], found["right"]) == (0.6, 1.0, round(53 / 60, 4))
    assert found["right_at_least"] == pytest.approx(0.798, abs=0.001)
    assert ok_of([0.8] * 50 + [0.6] * 500, right[:50] + [False] * 500)["confidence"] == 0.8


def test_no_code_of_a_model_that_learned_nothing_is_ok(tmp_path: Path) -> None:
    """The codes of the history have nothing to do with its texts."""
    texts, codes = history(400)
    Random(1).shuffle(codes)
    frame = pd.DataFrame({"description": texts, "code": codes})
    model = pipeline.train(frame, system="cpv", output=tmp_path / "m", only_history=True)
    assert model.systems["cpv"].ok_from is None
    assert "no code will be `ok`" in str(model)
    with pytest.warns(UserWarning, match="No cpv code will be ok"):
        found = pipeline.classify(texts, systems="cpv", models=model).table
    assert set(found["cpv_status"].to_pylist()) == {"review"}
