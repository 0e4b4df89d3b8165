"""Every command, settings file and script of Python that a document shows is right."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import pipeline
from pipeline.cli.app import app
from pipeline.cli.commands.accounts import accounts
from pipeline.cli.commands.ledger import ledger
from pipeline.cli.commands.run import run
from pipeline.service.chaos.faults import read_script
from tests.docs.pages import DOCS, DOCUMENTS, blocks, names, page, parse


def examples(text: str) -> list[list[str]]:
    """Return the arguments of each ``tender-pipeline`` in the shell's blocks."""
    found = []
    for block in blocks(text, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(re.split(" [<>] ", line)[0], comments=True)
            while words and "=" in words[0]:  # variables
                del words[0]
            if words[:1] == ["tender-pipeline"] and words[1:]:  # alone, it prints help
                found.append(words[1:])
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
def test_every_command_that_is_shown_is_understood(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    needed = ("FILE.xlsx", "tender-pipeline.toml", "nightly.toml")  # to be understood
    for name in needed:
        Path(name).touch()
    for arguments in examples(document.read_text("utf-8")):
        parse(app, arguments, None)


@pytest.mark.parametrize(("name", "group"), [("how-to/serve", accounts), ("how-to/ledger", ledger)])
def test_every_command_of_a_group_is_shown(name: str, group: click.Group) -> None:
    shown = {words[1] for words in examples(page(name)) if words[0] == group.name}
    assert shown == set(group.commands)


def test_every_command_of_the_code_tables_is_shown() -> None:
    codes = app.get_command(click.Context(app), "codes")
    assert isinstance(codes, click.Group)
    text = page("how-to/code-tables")
    assert [name for name in codes.commands if f"tender-pipeline codes {name}" not in text] == []


def test_every_settings_file_is_one_that_run_takes() -> None:
    options = {option.opts[0].removeprefix("--") for option in run.params}
    shown = [blocks(page(name), "toml") for name in ("reference/settings", "tutorial")]
    assert [len(each) for each in shown] == [1, 1]
    example = DOCS / "examples" / "every-night" / "tender-pipeline.toml"
    for text in (*map("".join, shown), example.read_text("utf-8")):
        assert set(tomllib.loads(text)) <= options


def test_the_example_of_faults_is_a_script(tmp_path: Path) -> None:
    (example,) = blocks(page("how-to/rehearse-faults"), "toml")
    path = tmp_path / "night.toml"
    path.write_text(example, "utf-8")
    assert [fault.kind for fault in read_script(path).fault] == [
        "latency",
        "drop-after",
        "refuse",
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=names)
def test_every_call_from_python_has_arguments_that_exist(document: Path) -> None:
    for example in blocks(document.read_text("utf-8"), "python"):
        for function, call in calls(example):
            known = inspect.signature(getattr(pipeline, function)).parameters
            assert {word.arg for word in call.keywords} <= set(known), function


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield what is called of the package."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "pipeline"
        ):
            yield node.func.attr, node
