from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from generated.commands import all_commands
from pipeline.cli.app import COMMANDS, app
from pipeline.cli.command import GROUPS, OTHER, OptionGroups
from pipeline.cli.commands.doctor import doctor
from pipeline.cli.commands.evaluate import evaluate
from pipeline.cli.commands.run import plan, run
from pipeline.cli.commands.train import train
from pipeline.errors import OutputError
from tests.cli.conftest import Capture, Command
from tests.evaluation.labels import csv_file

NEEDED = {train: ["--output", "model"]}
"""What the commands need besides a table."""


@pytest.mark.parametrize("command", [run, plan, doctor])
def test_each_option_is_in_one_group_of_the_help(command: OptionGroups) -> None:
    shown = CliRunner().invoke(command, ["--help"]).output.splitlines()
    options = [p.opts[0] for p in command.params if isinstance(p, click.Option) and not p.hidden]
    listed = [line[line.index("--") :].split()[0] for line in shown if line.startswith("  -")]
    assert Counter(listed) == Counter([*options, "--help"])
    titles = [line.removesuffix(":") for line in shown if line.endswith(":") and line[0] != " "]
    assert titles == [*GROUPS, OTHER]


@pytest.mark.parametrize(
    ("command", "groups"), [(evaluate, ["Table:", "Paid service:"]), (train, ["Table:"])]
)
def test_a_commands_own_options_come_before_those_of_other_commands(
    command: OptionGroups, groups: list[str]
) -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    assert [line for line in shown.splitlines() if line[-1:] == ":" and line[0] != " "] == [
        "Options:",
        *groups,
    ]
    own, *others = shown.partition("\nOptions:")[2].split("\n\n")
    assert "  --code-column" in own and "--help" in own
    assert "  --sheet" in others[0]


@pytest.mark.parametrize("command", [run, plan])
def test_without_arguments_the_help_is_shown_as_an_error(command: OptionGroups) -> None:
    done, helped = CliRunner().invoke(command, []), CliRunner().invoke(command, ["--help"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == helped.stdout


@pytest.mark.parametrize("command", [run, evaluate, train])
def test_a_setting_is_no_option_and_a_wrong_value_names_its_variable(command: OptionGroups) -> None:
    variables = {"TENDER_PIPELINE_QUOTE_ESCAPE": "x"}
    done = CliRunner().invoke(command, ["t.csv", *NEEDED.get(command, [])], env=variables)
    assert "Invalid value for TENDER_PIPELINE_QUOTE_ESCAPE: 'x' is not one of" in done.stderr
    done = CliRunner().invoke(command, ["t.csv", "--quote-escape", "none"])
    assert "No such option '--quote-escape'." in done.stderr


def test_run_has_at_most_45_options() -> None:
    shown = CliRunner().invoke(run, ["--help"]).output
    assert sum(line.startswith("  -") for line in shown.splitlines()) <= 45


NAME, VARIABLE = "tender-pipeline", "_TENDER_PIPELINE_COMPLETE"


def completed(*words: str) -> list[tuple[str, str]]:
    *before, last = words
    found = ShellComplete(app, {}, NAME, VARIABLE).get_completions(before, last)
    return [(item.type, item.value) for item in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["led"], ["ledger"]),
        (["ledger", "j"], ["jobs"]),
        (["run", "--max-cost-"], ["--max-cost-per-day", "--max-cost-per-month"]),
    ],
)
def test_commands_options_and_values_are_completed(words: list[str], expected: list[str]) -> None:
    assert completed(*words) == [("plain", word) for word in expected]


def test_the_list_of_commands_needs_none_of_them_and_says_what_they_say() -> None:
    heavy = "{'pandas', 'pyarrow', 'numpy', 'scipy', 'httpx'} & set(sys.modules)"
    code = (
        f"import atexit, sys; atexit.register(lambda: print({heavy})); sys.argv[1:] = ['-h']\n"
        "from pipeline.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *shown, imported = done.stdout.splitlines()
    assert imported == "set()"
    width = max(map(len, COMMANDS)) + 2
    for name, said in COMMANDS.items():
        assert f"  {name:<{width}}{said}" in shown
        command = app.get_command(click.Context(app), name)
        assert command is not None
        assert command.short_help == said


IMPORTED = """
import contextlib, io, json, sys
from pipeline.cli import main

def run(*args):
    sys.argv[1:] = ["run", *args]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main()
    return [*sys.modules]

helped = run("--help")
import pipeline.cli.many
started = [*sys.modules]
print(json.dumps([helped, started, run(SOURCE, "--systems", "naics", "--output", OUTPUT)]))
"""

NOT_FOR_HELP = {"numpy", "logging", "tempfile", "tomllib", "difflib", "hashlib", "html"}
NOT_FOR_THE_ENGINE = {"pandas", "scipy", "httpx", "asyncio", "ssl", "sqlite3", "jinja2"}
OF_OTHER_FORMATS = {"pyarrow.parquet", "pyarrow.fs", "pyarrow.compute"} | {
    f"pipeline.tables.{name}" for name in ("json_reader", "ocds", "xlsx_reader")
}


def test_a_run_imports_only_what_it_uses(tmp_path: Path) -> None:
    """Half of a short run is imports."""
    (tmp_path / "in.csv").write_text("description\nRoad works\n")
    places = {"SOURCE": str(tmp_path / "in.csv"), "OUTPUT": str(tmp_path / "out.csv")}
    code = "\n".join(f"{name} = {place!r}" for name, place in places.items()) + IMPORTED
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    helped, started, ran = map(set, json.loads(done.stdout))
    assert (tmp_path / "out.csv").exists()
    assert not helped & (NOT_FOR_HELP | NOT_FOR_THE_ENGINE)
    assert "pipeline.engine" in ran - started  # a purchase needs no engine
    assert not ran & (NOT_FOR_THE_ENGINE | OF_OTHER_FORMATS)


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
