from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
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


def test_a_variable_that_sets_nothing_is_warned_of(
    command: Command,
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_MAX_COSTS", "1")
    monkeypatch.setenv("TENDER_PIPELINE_SERVE_PORT", "8000")
    monkeypatch.setenv("TENDER_PIPELINE_DEBUG", "0")
    monkeypatch.setenv("TENDER_PIPELINE_ROLL_UP", "")
    assert command("plan", table) == 0
    said = capsys.readouterr().err + caplog.text
    assert "MAX_COSTS sets nothing. Did you mean TENDER_PIPELINE_MAX_COST?" in said
    assert said.count("sets nothing") == 1


def test_the_error_about_a_wrong_value_says_where_it_was_set(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert command("plan", table, "--top", "x") == 2
    assert "'x' is not a valid integer.\nSee all options" in capsys.readouterr().err
    Path("tender-pipeline.toml").write_text('output-format = "pdf"\n')
    assert command("plan", table) == 2
    assert "--output-format comes from tender-pipeline.toml.\n" in capsys.readouterr().err
    monkeypatch.setenv("TENDER_PIPELINE_ROLL_UP", "x")
    assert command("plan", table) == 2
    said = capsys.readouterr().err
    assert "--roll-up comes from the variable TENDER_PIPELINE_ROLL_UP.\n" in said
    assert command("plan", table, "--json") == 2
    assert "variable TENDER_PIPELINE_ROLL_UP." in json.loads(capsys.readouterr().out)["hint"]
    monkeypatch.setenv("TENDER_PIPELINE_SERVE_PORT", "x")
    assert command("serve") == 2
    said = capsys.readouterr().err
    assert "--port comes from the variable TENDER_PIPELINE_SERVE_PORT.\n" in said


def test_a_settings_file_that_cannot_be_read_is_named_without_an_option_of_other_commands(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    Path("tender-pipeline.toml").touch()
    refused = PermissionError(13, "Permission denied")
    monkeypatch.setattr("pipeline.cli.settings_file.read_toml", Mock(side_effect=refused))
    assert command("ledger", "show") == 2
    said = capsys.readouterr().err
    assert "tender-pipeline.toml cannot be read: Permission denied." in said
    assert "--config" not in said


def test_options_win_over_variables_and_variables_over_the_settings_file(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("tender-pipeline.toml").write_text(
        'systems = ["psc", "naics"]\ntext-column = "title"\ncolumn-prefix = "file_"\ntop = 2\n'
    )
    monkeypatch.setenv("TENDER_PIPELINE_COLUMN_PREFIX", "variable_")
    monkeypatch.setenv("TENDER_PIPELINE_TEXT_COLUMN", " description , title, ")
    monkeypatch.setenv("TENDER_PIPELINE_TOP", "3")
    assert command("run", table, "--column-prefix", "option_") == 0
    manifest = json.loads(Path("outputs/tenders.classified.csv.manifest.json").read_text())
    settings = manifest["settings"]
    assert settings["systems"] == ["psc", "naics"]
    assert settings["text_columns"] == ["description", "title"]
    assert settings["column_prefix"] == "option_"
    assert settings["top"] == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('sistems = "cpv"', "Did you mean 'systems'?"),
        ("TOP = 3", "Did you mean 'top'?"),
        ("systems = cpv", "Write it as TOML."),
        ("qqqq = 1", "Choose from output, text-column, limit-rows"),
        ("[run]\ntop = 2", "Delete the line [run]"),
        ("top = inf", "--help. --top comes from tender-pipeline.toml."),
        ("top = true", "tender-pipeline.toml: top is true.\nIt takes no true or false"),
        ("ledger = false", "tender-pipeline.toml: ledger is false."),
        ("decisions = [[]]", "decisions has several values."),
        ('jobs = "all"', "--jobs must be a whole number from 1, or auto. --jobs comes from"),
        ("output = [1]", "tender-pipeline.toml: output has several values.\nGive it one."),
        ("text-column = {a = 1}", "text-column has several values."),
        ("systems = [1]", "'1'"),
        ('systems = "ted"', "naics (--systems). --systems comes from tender-pipeline.toml."),
        ('text-column = "nope"', "--text-column comes from tender-pipeline.toml."),
        (
            "quote-escape = 3",
            "--help. quote-escape comes from tender-pipeline.toml.",
        ),
        (
            "fail-if-no-match = 2",
            "fail-if-no-match is 2.0.\nfail-if-no-match must be a fraction from 0 to 1, such as "
            "0.5. fail-if-no-match comes from tender-pipeline.toml.",
        ),
        ("no_header = 3", "--help. --no-header comes from tender-pipeline.toml."),
    ],
)
def test_a_wrong_settings_file_is_refused(
    command: Command, table: Path, capsys: Capture, text: str, said: str
) -> None:
    Path("tender-pipeline.toml").write_text(text)
    assert command("run", table) == 2
    assert said in capsys.readouterr().err


def test_an_error_says_where_an_option_was_set_that_nobody_typed(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    Path("tender-pipeline.toml").write_text("explain = true\n")
    monkeypatch.setenv("TENDER_PIPELINE_BASE_URL", "http://localhost:9")
    assert command("plan", table) == 2
    said = capsys.readouterr().err
    assert "Remove --explain, or the service (--base-url)." in said
    assert "--explain comes from tender-pipeline.toml." in said
    assert "--base-url comes from the variable TENDER_PIPELINE_BASE_URL." in said
    assert command("plan", table, "--explain", "--base-url", "http://localhost:9") == 2
    assert "comes from" not in capsys.readouterr().err


def test_the_settings_file_may_have_numbers_and_flags_and_an_empty_text_means_unset(
    command: Command, table: Path
) -> None:
    empty = ("output", "text-column", "roll-up", "encoding", "no-header", "json")
    Path("tender-pipeline.toml").write_text(
        'min-confidence = 1\nlimit-rows = 2\noverwrite = true\nsystems = ["psc"]\ntop = "1"\n'
        + "".join(f'{name} = ""\n' for name in empty)
    )
    assert command("run", table) == 0
    lines = Path("outputs/tenders.classified.sample-2.csv").read_text().splitlines()
    assert len(lines) == 3
    assert ",review," in lines[1]


@pytest.mark.parametrize("written", ["0.1", '"0.1"', "0.1234567890123456789012"])
def test_an_amount_of_money_in_the_settings_file_is_exact(
    command: Command, table: Path, capsys: Capture, written: str
) -> None:
    Path("my.toml").write_text(f'base-url = "http://localhost:9"\nmax-cost = {written}\n')
    assert command("plan", table, "--config", "my.toml", "--json") == 0
    shown = json.loads(capsys.readouterr().out)["left_of_max_cost_usd"]
    assert shown == written.strip('"')


def test_what_a_file_sets_that_was_only_found_is_logged(
    command: Command, table: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = Path("tender-pipeline.toml")
    file.write_text('systems = "psc"\ntop = 2\nexplain = true\n')
    monkeypatch.setenv("TENDER_PIPELINE_EXPLAIN", "0")
    assert command("run", table, "--top", "3") == 0
    said = "tender-pipeline.toml, found in the current folder, sets --systems"
    assert said in caplog.messages
    caplog.clear()
    assert command("run", table, "--config", file) == 0
    file.write_text("")
    assert command("run", table, "--systems", "psc") == 0
    assert "found in the current folder" not in caplog.text
