"""Commands and options that texts of the package advise: there are such, and they work."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from generated.commands import all_commands
from pipeline.cli.app import COMMANDS
from pipeline.paid.ledger.ledger import Ledger
from tests.cli.conftest import Capture, Command

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
