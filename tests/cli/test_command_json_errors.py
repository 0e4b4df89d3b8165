"""Errors as JSON, where a program reads the figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from generated.commands import all_commands
from pipeline.errors import OutputError
from tests.cli.conftest import Capture, Command
from tests.evaluation.labels import csv_file

WITH_JSON = [
    tuple(name.split())
    for name, command, _ in all_commands()
    if any("--json" in option.opts for option in command.params)
]


def test_the_commands_with_figures_take_json() -> None:
    assert {"run", "plan", "evaluate", "train", "doctor", "ledger", "accounts"} == {
        path[0] for path in WITH_JSON
    }


@pytest.mark.parametrize("path", WITH_JSON, ids=" ".join)
def test_a_wrong_option_is_an_object_that_names_the_help_of_its_command(
    command: Command, capsys: Capture, path: tuple[str, ...]
) -> None:
    assert command(*path, "--json", "--nope") == 2
    said = capsys.readouterr()
    figures = json.loads(said.out)
    assert figures["hint"] == f"See all options: tender-pipeline {' '.join(path)} --help."
    assert "--nope" in figures["error"]
    assert "--nope" in said.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "no.csv"], 2, "no.csv does not exist."),
        (["plan", "no.csv", "--top", "99"], 2, "--top is 99."),
        (["evaluate", "no.csv", "--system", "cpv"], 2, "no.csv does not exist."),
        (["train", "no.csv", "--system", "cpv", "--output", "m"], 2, "no.csv does not exist."),
        (["ledger", "show", "--ledger", "no.db"], 8, "There is no ledger no.db."),
        (["accounts", "list", "--data", "no"], 2, "There are no accounts in no."),
    ],
)
def test_an_error_of_any_command_is_an_object_if_asked(
    command: Command, capsys: Capture, arguments: list[str], code: int, said: str
) -> None:
    assert command(*arguments, "--json") == code
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    assert said in printed.err
    assert set(figures) == {"error", "hint", "exit_code"}
    assert figures["error"] == said
    assert figures["exit_code"] == code
    assert command(*arguments) == code
    assert not capsys.readouterr().out


def test_a_page_that_cannot_be_written_leaves_one_object(
    command: Command, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> str:
        raise OutputError("The disk is full.", "Free some space.")

    monkeypatch.setattr("pipeline.cli.commands.evaluate.page", full)
    labelled = csv_file(tmp_path / "labelled.csv")
    options = ["--system", "cpv", "--report", tmp_path / "p.html", "--json"]
    assert command("evaluate", labelled, *options) == 2
    assert json.loads(capsys.readouterr().out)["error"] == "The disk is full."
