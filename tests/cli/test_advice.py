"""Commands and options that texts of the package advise: there are such, and they work."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pipeline import wording
from pipeline.cli.app import COMMANDS, app
from pipeline.paid.ledger.ledger import Ledger
from pipeline.wording import Words
from tests.cli.conftest import Capture, Command

ROOT = Path(__file__).parents[2] / "pipeline"

WORD = r"[\w.]+\.\w+|https?://\S+|--?[a-z][a-z-]*|[a-z][a-z-]*|[A-Z_]+(?:\.\.\.)?|\{\}|\"[^\"]*\""
ADVICE = re.compile(rf"tender-pipeline ([a-z][a-z-]*)((?: (?:{WORD}))*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")

WORDED = ("beside", "both", "csv_option", "excel_option", "option", "read_as", "written_as")
"""The functions that write a part of a text for the command line and for Python."""

PROSE = {"and", "has", "made", "model", "needs", "or", "with", "writes"}
"""Words that follow the name of the tool, or of a command, in sentences."""


def rendered(node: ast.AST) -> str:
    """Return a text as a reader sees it, with ``{}`` for each value that it is made with."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(rendered, parts))
        case ast.FormattedValue(value=ast.Call() as call):
            return rendered(call)
        case ast.Call(func=ast.Name(id="command"), args=words):
            return " ".join(["tender-pipeline", *map(rendered, words)])
        case ast.Call(func=ast.Name(id=name), args=words) if name in WORDED:
            return str(Words(getattr(wording, name)(*map(rendered, words))))
    return "{}"


def in_code(node: ast.AST) -> Iterator[str]:
    text = rendered(node)
    if text != "{}":
        yield text
    else:
        for child in ast.iter_child_nodes(node):
            yield from in_code(child)


def texts() -> Iterator[str]:
    """Yield the texts of the package: those in its code, and those of its pages."""
    for path in ROOT.rglob("*.py"):
        yield from in_code(ast.parse(path.read_text("utf-8")))
    for path in (*ROOT.rglob("*.j2"), *ROOT.rglob("*.html")):
        words = re.sub(r"<style.*?</style>|<[^>]*>", "", path.read_text("utf-8"), flags=re.DOTALL)
        yield re.sub(r"\{\{.*?\}\}", "{}", words)


def advised() -> list[tuple[str, str]]:
    """Return the commands that texts of the package name, with the words after each."""
    found = (match for text in texts() for match in ADVICE.finditer(text))
    return sorted({(match[1], match[2]) for match in found})


def options(command: click.Command) -> Iterator[str]:
    """Yield the options of a command and of those below it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if child := command.get_command(context, name):
                yield from options(child)
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)


def problem(name: str, words: str) -> str:
    """Return what a command that is advised does not have; "" if it is one."""
    if name not in COMMANDS:
        return "" if name in PROSE else "command"
    context = click.Context(app)
    command = app.get_command(context, name)
    given = words.split()
    if isinstance(command, click.Group) and given and given[0][0] not in "-{":
        command = command.get_command(context, given[0])
        if command is None:
            return "" if given[0] in PROSE else "command"
    assert command is not None
    wrong = set(OPTION.findall(words)) - {*options(command), "--help"}
    return " ".join(sorted(wrong))


def test_every_command_that_a_text_names_exists_with_its_options() -> None:
    found = advised()
    assert ("ledger", " attempts --state unconfirmed --state billed --ledger {}") in found
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
    known = {*options(app), "--dry-run", "--help", "--version"}
    named = {(option, text) for text in texts() for option in OPTION.findall(text)}
    assert len(named) > 250
    assert {(option, text) for option, text in named if option not in known} == set()


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
