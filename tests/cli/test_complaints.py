"""Errors, and the advice in them, as a person or a program reads them."""

from __future__ import annotations

import errno
import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from generated.commands import all_commands
from pipeline.cli.app import COMMANDS, MODULES
from pipeline.cli.output.console import print_error
from pipeline.errors import SettingsError
from pipeline.paid.ledger.ledger import Ledger
from tests.cli.conftest import Capture, Command, Terminal
from tests.fakes import keep_out_of

LONG = SettingsError("The table" + " has many words" * 9, "Name another: --text-column NAME.")


@pytest.mark.parametrize(("columns", "widest"), [("200", 80), ("80", 80), ("40", 40)])
def test_words_are_wrapped_at_80_columns_or_the_width_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: str, widest: int
) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setenv("COLUMNS", columns)
    print_error(LONG)
    lines = stream.getvalue().splitlines()
    assert widest - 15 < max(map(len, lines)) <= widest
    assert lines[0].startswith("Error: The table has many words")
    assert " ".join(lines) == f"Error: {LONG.message} {LONG.hint}"


@pytest.mark.parametrize("asked", [[], ["--nope"]])
def test_an_error_is_a_line_of_a_json_log_too(
    command: Command, capsys: Capture, asked: list[str]
) -> None:
    assert command("run", "nope.csv", *asked, log_format="json") == 2
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["event"], line["exit_code"]) == ("error", "error", 2)
    assert "nope" in line["message"]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/root/x"), 2, "'/root/x' cannot be"),
        (PermissionError(errno.EACCES, "Permission denied"), 1, "An unexpected error"),
        (OSError(errno.EIO, "Input/output error"), 1, "[Errno 5] Input/output error"),
        (
            FileNotFoundError(errno.ENOENT, "No such file"),
            2,
            "The current folder no longer exists.",
        ),
        (MemoryError(), 1, "There is not enough memory."),
        (KeyError("x"), 1, "KeyError: 'x'"),
    ],
)
@pytest.mark.parametrize("name", ["run", "plan"])
def test_json_has_the_errors_of_others_too(
    command: Command,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    error: Exception,
    code: int,
    said: str,
) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr("pipeline.cli.many.are_several", failing)
    assert command(name, "in.csv", "--json") == code
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    assert said in printed.err
    assert said in figures["error"]
    assert figures["hint"]
    assert figures["exit_code"] == code


@pytest.mark.parametrize("arguments", [["run"], ["evaluate", "--system", "cpv"]])
def test_a_text_in_place_of_a_table_is_not_an_unexpected_error(
    command: Command, capsys: Capture, arguments: list[str]
) -> None:
    assert command(*arguments, "snow clearing " * 30) == 2
    assert "... cannot be used: File name too long." in capsys.readouterr().err


def test_an_error_of_the_system_has_no_number_and_names_its_file_once(
    command: Command, table: Path, capsys: Capture
) -> None:
    buying = ["--base-url", "http://localhost:1", "--ledger", f"{table}/l.db"]
    assert command("run", table, *buying) == 8
    assert "/l.db cannot be used: File exists.\n" in capsys.readouterr().err
    assert command("accounts", "open", "--data", f"{table}/accounts") == 2
    assert "/accounts cannot be used: Not a directory.\n" in capsys.readouterr().err


@pytest.mark.parametrize("ledger", [".", "/"])
def test_a_ledger_that_is_a_folder_is_one_clear_error(
    command: Command, table: Path, capsys: Capture, ledger: str
) -> None:
    assert command("run", table, "--ledger", ledger, "--base-url", "http://localhost:1") == 8
    assert f"{Path(ledger).absolute()} is not a file.\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("s.toml", ["run", "in.csv", "--config"]),
        ("codes.csv", ["codes", "add", "unspsc"]),
        ("d.jsonl", ["evaluate", "--system", "cpv", "--decisions"]),
    ],
)
def test_a_byte_that_is_not_utf_8_is_named(
    command: Command, capsys: Capture, name: str, arguments: list[str]
) -> None:
    Path(name).write_bytes(b'{"text": "\xee"}\n')
    assert command(*arguments, name) == 2
    assert "byte 0xEE is not UTF-8.\n" in capsys.readouterr().err


def test_a_table_in_a_folder_that_may_not_be_entered_is_not_reported_as_missing(
    command: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_out_of("no", monkeypatch)
    assert command("run", "no/in.csv") == 2
    said = "no/in.csv cannot be read: Permission denied.\nCheck the permissions of the file"
    assert said in capsys.readouterr().err


@click.command()
def broken() -> None:
    """Make a mistake."""
    raise KeyError("x")


def test_a_mistake_of_ours_is_one_error_and_has_its_traceback_with_debug(
    command: Command, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COMMANDS, "broken", "")
    monkeypatch.setitem(MODULES, "broken", __name__)
    assert command("broken") == 1
    told = capsys.readouterr().err
    assert told.splitlines() == [
        "Error: An unexpected error in tender-pipeline or its installation: KeyError: 'x'",
        "Run the same command with --debug to see where it happened, and report that.",
    ]
    for arguments in (["--debug", "broken"], ["broken", "--debug"]):
        assert command(*arguments) == 1
        err = capsys.readouterr().err
        assert err.startswith("Traceback (most recent call last):")
        assert err.endswith(told)
    monkeypatch.setenv("TENDER_PIPELINE_DEBUG", "1")
    assert command("broken") == 1
    assert "Traceback" in capsys.readouterr().err


def test_debug_shows_where_an_expected_error_happened_too(
    command: Command, capsys: Capture, tmp_path: Path
) -> None:
    assert command("run", tmp_path / "nope.csv", "--debug") == 2
    err = capsys.readouterr().err
    assert "InputError" in err
    assert "Traceback" in err
    assert command("run", "--", "--debug") == 2  # the name of a file
    assert "Error: --debug does not exist." in capsys.readouterr().err


def test_quiet_prints_nothing_if_all_is_well_and_json_if_asked(
    command: Command, capsys: Capture, tmp_path: Path
) -> None:
    table = tmp_path / "in.csv"
    table.write_text("description\nroad\n")
    run = ["run", table, "--output", tmp_path / "out.csv", "--systems", "psc", "--quiet"]
    assert command(*run) == 0
    assert capsys.readouterr().out == ""
    assert command(*run, "--json", "--min-confidence", 1) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"] == shown["to_check"] == shown["systems"]["psc"]["review"] == 1
    assert command("run", tmp_path / "nope.csv", "--quiet") == 2
    assert "nope.csv does not exist" in capsys.readouterr().err


ROOT = Path(__file__).parents[2] / "pipeline"

WORD = r"[\w.]+\.\w+|https?://\S+|--?[a-z][a-z-]*|[a-z][a-z-]*|[A-Z_]+(?:\.\.\.)?|\{\}|\"[^\"]*\""
ADVICE = re.compile(rf"tender-pipeline ([a-z][a-z-]*)((?: (?:{WORD}))*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

PROSE = {"and", "has", "made", "model", "needs", "or", "with", "writes"}
"""Words that follow the name of the tool, or of a command, in sentences."""


def texts() -> Iterator[str]:
    """Yield the code of the package, with ``{}`` for facts, and the texts in its pages."""
    for path in ROOT.rglob("*.py"):
        joined = re.sub(r'"\s*\n\s*f?"', "", path.read_text("utf-8"))
        named = re.sub(r"""(?<![.\w])command\(\s*f?["']""", "tender-pipeline ", joined)
        yield re.sub(r"\{(?![^{}]*tender-pipeline)[^{}]*\}", "{}", named)
    yield (ROOT.parent / "tests" / "wording.txt").read_text("utf-8")
    for path in (*ROOT.rglob("*.j2"), *ROOT.rglob("*.html")):
        words = re.sub(r"<style.*?</style>|<[^>]*>", "", path.read_text("utf-8"), flags=re.DOTALL)
        yield re.sub(r"\{\{.*?\}\}", "{}", words)


def advised() -> list[tuple[str, str]]:
    """Return the commands that texts of the package name, with the words after each."""
    found = (match for text in texts() for match in ADVICE.finditer(text))
    return sorted({(match[1], match[2]) for match in found})


ALL = {name: command for name, command, _ in all_commands()}


def options(name: str = "") -> set[str]:
    """Return the options of a command and of those below it; of all without a name."""
    found = (command for each, command in ALL.items() if each.startswith(name))
    return {option for command in found for each in command.params for option in each.opts}


def problem(name: str, words: str) -> str:
    """Return what a command that is advised does not have; "" if it is one."""
    if name not in COMMANDS:
        return "" if name in PROSE else "command"
    given = words.split()
    if isinstance(ALL[name], click.Group) and given and given[0][0] not in "-{":
        name = f"{name} {given[0]}"
        if name not in ALL:
            return "" if given[0] in PROSE else "command"
    wrong = set(OPTION.findall(words)) - options(name) - {"--help"}
    return " ".join(sorted(wrong))


def test_every_command_that_a_text_names_exists_with_its_options() -> None:
    found = advised()
    assert ("ledger", " attempts --state unconfirmed --state billed --ledger") in found
    assert ("run", " tenders.csv --base-url {}") in found  # on a page
    assert {each: lack for each in found if (lack := problem(*each))} == {}


@pytest.mark.parametrize(
    ("name", "words", "lacks"),
    [("pay", "", "command"), ("ledger", " pay {}", "command"), ("run", " {} --pay", "--pay")],
)
def test_a_command_or_an_option_that_is_not_there_is_found(
    name: str, words: str, lacks: str
) -> None:
    assert problem(name, words) == lacks


def test_every_option_that_a_text_names_exists() -> None:
    known = options() | {"--debug", "--help", "--version"}
    named = {option for text in texts() for option in OPTION.findall(text)}
    assert len(named) > 60
    assert named <= known


def test_every_command_about_a_ledger_names_it() -> None:
    about = [words for name, words in advised() if name == "ledger" and words]
    assert len(about) > 4
    assert [words for words in about if "--ledger" not in words] == []


def test_what_is_advised_about_accounts_finds_the_same_folder(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "the accounts"
    assert command("accounts", "open", "--data", folder) == 0
    for arguments in (["show", "9"], ["revoke-key", "1", "9"]):
        capsys.readouterr()
        assert command("accounts", *arguments, "--data", folder) == 2
        advice = capsys.readouterr().err.split("tender-pipeline ")[-1].strip().rstrip(".")
        assert command(*shlex.split(advice)) == 0


def test_what_is_advised_about_a_ledger_finds_the_same_file(
    command: Command, tmp_path: Path, capsys: Capture
) -> None:
    place = tmp_path / "-our ledger.db"
    Ledger(place, "https://service.example").close()
    for arguments in (["settle", "9", "--not-billed"], ["jobs", "--close", "9"]):
        assert command("ledger", *arguments, "--ledger", place.name) == 2
        advice = capsys.readouterr().err.split("tender-pipeline ")[-1]
        assert "'./-our ledger.db'" in advice
        assert command(*shlex.split(advice)) == 0
