"""A file to write is never one that the command reads or keeps, by whichever name."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import pipeline
from pipeline.cli.app import app
from pipeline.paid.ledger.ledger import Ledger

KEPT = ("in.csv", "ledger.html", "ledger.html-wal", "key.html", "d.html", "s.html")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in KEPT:
        (tmp_path / name).write_text("description\nroad works\n")
    (tmp_path / "s.html").write_text('ledger = "ledger.html"\napi-key-file = "key.html"\n')
    (tmp_path / "symbolic.html").symlink_to("ledger.html")
    (tmp_path / "hard.html").hardlink_to("key.html")
    return tmp_path


def said(*arguments: str) -> str:
    given, variables = [*arguments], {}
    if "metrics-file" in given:  # a setting
        at = given.index("metrics-file")
        variables = {"TENDER_PIPELINE_METRICS_FILE": given.pop(at + 1)}
        del given[at]
    done = CliRunner().invoke(app, given, env=variables)
    return f"{done.output}{getattr(done.exception, 'message', '')}"


@pytest.mark.parametrize("command", ["run", "plan"])
@pytest.mark.parametrize(
    ("option", "name", "what"),
    [
        ("--report", "ledger.html", "the ledger"),
        ("--report", "ledger.html-wal", "a file of the ledger"),
        ("--report", "../{folder}/ledger.html", "the ledger"),
        ("--report", "symbolic.html", "the ledger"),
        ("--report", "hard.html", "--api-key-file"),
        ("metrics-file", "key.html", "--api-key-file"),
        ("metrics-file", "d.html", "--decisions"),
        ("--output", "s.html", "the settings file"),
        ("--output", "ledger.html", "the ledger"),
    ],
)
def test_what_a_run_keeps_is_not_written_over(
    folder: Path, command: str, option: str, name: str, what: str
) -> None:
    before = {each: (folder / each).read_bytes() for each in KEPT}
    options = ["--config", "s.html", "--decisions", "d.html", "--overwrite", option]
    path = name.format(folder=folder.name)
    expected = f"{option} and {what} are the same file, which would be lost."
    assert expected in said(command, "in.csv", *options, path)
    assert {each: (folder / each).read_bytes() for each in KEPT} == before


def test_doctor_says_the_same_of_what_a_run_keeps() -> None:
    found = said("doctor", "--config", "s.html", "--report", "ledger.html", "--overwrite")
    assert "--report and the ledger are the same file, which would be lost." in found


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("../{folder}/link.csv", "output and the ledger are the same file"),
        ("d.jsonl", "output and the file of decisions are the same file"),
        ("in.csv", "output and data are the same file"),
        ("o.csv", "the manifest of output and the ledger are the same file"),
        ("other.csv", "other.csv is a database, perhaps a ledger, which would be lost"),
    ],
)
def test_what_a_python_call_keeps_is_not_written_over(
    folder: Path, output: str, expected: str
) -> None:
    (folder / "d.jsonl").write_text("")
    (folder / "ledger.html").rename("o.csv.manifest.json")
    (folder / "link.csv").symlink_to("o.csv.manifest.json")
    with closing(Ledger(folder / "other.csv", "https://service.example")) as ledger:
        ledger.open_job("job")
    before = {each: each.read_bytes() for each in folder.iterdir() if each.exists()}
    service = pipeline.PaidService("https://service.example", ledger="o.csv.manifest.json")
    path = output.format(folder=folder.name)
    with pytest.raises(pipeline.SettingsError, match=expected):
        pipeline.classify(
            "in.csv",
            output=path,
            overwrite=True,
            service=service,
            decisions="d.jsonl",
            csv=pipeline.CsvOptions(delimiter=","),
        )
    assert {each: each.read_bytes() for each in folder.iterdir() if each.exists()} == before


def test_a_model_or_a_settings_file_replaces_no_ledger_either(folder: Path) -> None:
    with pytest.raises(pipeline.SettingsError, match="output and data are the same file"):
        pipeline.train("in.csv", output=folder, system="cpv", overwrite=True)
    with closing(Ledger(folder / "other.db", "https://service.example")) as ledger:
        ledger.open_job("job")
    before = (folder / "other.db").read_bytes()
    assert "other.db is a database" in said("run", "in.csv", "--report", "other.db", "--overwrite")
    assert (folder / "other.db").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--output", "o.html", "--report", "o.html"], "--output and --report are"),
        (["--report", "o.html", "metrics-file", "./o.html"], "metrics-file and --report are"),
        (["metrics-file", "in.csv"], "metrics-file and the input are"),
        (
            ["--ledger", "outputs/in.classified.csv", "--overwrite"],
            "--output and the ledger are",
        ),
        (
            ["--output", "o.csv", "metrics-file", "o.csv.manifest.json"],
            "the manifest of --output and metrics-file are",
        ),
    ],
)
def test_no_two_files_that_a_run_writes_are_one(options: list[str], expected: str) -> None:
    assert f"{expected} the same file" in said("run", "in.csv", *options)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["evaluate", "in.csv", "--system", "cpv", "--report", "ledger.html"], "--report and the"),
        (["train", "in.csv", "--system", "cpv", "--output", "."], "--output and HISTORY are"),
    ],
)
def test_other_commands_write_over_nothing_either(arguments: list[str], expected: str) -> None:
    ledger = [] if arguments[0] == "train" else ["--ledger", "ledger.html"]
    assert expected in said(*arguments, *ledger, "--overwrite")
