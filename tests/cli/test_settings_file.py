"""Where a setting comes from: an option, a variable or the settings file."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.cli.conftest import Capture, Command


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
            "--help. TENDER_PIPELINE_QUOTE_ESCAPE comes from tender-pipeline.toml.",
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
