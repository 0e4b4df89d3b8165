from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click
import pytest

from pipeline.cli.commands.init import init
from pipeline.cli.commands.run import run
from pipeline.cli.options import DeclaredOption
from pipeline.errors import OutputError, SettingsError

SETTING = re.compile(r"^#(?=[a-z-]+ = )", re.MULTILINE)


def written(path: Path, *options: str) -> str:
    init.main([str(path), *options], standalone_mode=False)
    return path.read_text()


def test_the_file_sets_nothing_and_explains_every_setting(tmp_path: Path) -> None:
    text = written(tmp_path / "new.toml")
    assert tomllib.loads(text) == {}
    named = set(tomllib.loads(SETTING.sub("", text)))
    options = {p.opts[0][2:] for p in run.params if isinstance(p, click.Option)}
    assert named == options - {"config"}
    assert max(map(len, text.splitlines())) <= 100


def test_run_takes_every_setting_as_the_file_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "all.toml"
    path.write_text(SETTING.sub("", written(path)))
    with run.make_context("run", ["x.csv", "--config", str(path)]) as shown:
        found = shown.params
    with run.make_context("run", ["x.csv"]) as plain:
        defaults = plain.params
    declared = [each for each in run.params if isinstance(each, DeclaredOption)]
    examples = {each.name for each in declared if each.example is not None}
    assert {name for name in found if found[name] != defaults[name]} == examples


def test_a_file_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("top = 3\n")
    with pytest.raises(SettingsError, match=r"own\.toml exists"):
        written(path)
    assert path.read_text() == "top = 3\n"
    assert "#top = 1" in written(path, "--overwrite")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"nowhere/it\.toml cannot be written"):
        written(tmp_path / "nowhere" / "it.toml")
