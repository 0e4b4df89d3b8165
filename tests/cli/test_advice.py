"""Commands that messages advise: there are such commands and options, and they work."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from pipeline.cli.app import COMMANDS, app
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2] / "pipeline"

ADVICE = re.compile(r"tender-pipeline ([a-z][a-z-]*)((?: [a-z][a-z-]*| --[a-z-]+)*)")


def advised() -> list[tuple[str, str]]:
    """Return the commands that texts of the package name, with the words after each."""
    texts = (
        node.value
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    found = (match for text in texts for match in ADVICE.finditer(text))
    return sorted({(match[1], match[2]) for match in found})


def test_every_command_that_a_text_names_exists_with_its_options() -> None:
    found = [(name, words) for name, words in advised() if name in COMMANDS]
    assert len(found) > 15
    for name, words in found:
        context = click.Context(app)
        command = app.get_command(context, name)
        first, *_ = [*words.split(), ""]
        if isinstance(command, click.Group) and not first.startswith("--") and first:
            child = command.get_command(context, first)
            assert child is not None or first in ("and", "has", "made", "with"), (name, words)
            command = child or command
        assert command is not None
        known = {each for param in command.params for each in param.opts}
        wrong = set(re.findall(r"--[a-z-]+", words)) - known - {"--help"}
        assert not wrong, (name, words)


def test_what_is_advised_about_accounts_finds_the_same_folder(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "the accounts"
    assert command("accounts", "open", "--data", folder) == 0
    for arguments in (["show", "9"], ["revoke-key", "1", "9"]):
        capsys.readouterr()
        assert command("accounts", *arguments, "--data", folder) == 2
        advice = capsys.readouterr().err.split("tender-pipeline ")[-1].strip().rstrip(".")
        assert command(*shlex.split(advice)) == 0
