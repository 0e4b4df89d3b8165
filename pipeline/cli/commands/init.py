"""``tender-pipeline init``: write a settings file in which every setting is explained."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import click

from pipeline.cli.commands.run import run
from pipeline.cli.options import DeclaredOption, Names
from pipeline.cli.output.console import say
from pipeline.cli.settings_file import DEFAULT_FILE
from pipeline.errors import OutputError, SettingsError
from pipeline.files.paths import check_kept

WIDTH = 88

HEAD = """\
# Settings of `tender-pipeline run` and `plan`, which read this file in the current folder.
# Delete the `#` before a setting to use it. Options and environment variables come first.
"""


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default=DEFAULT_FILE)
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def init(file: Path, overwrite: bool) -> int:
    """Write a settings file in which every setting is explained and none is set.

    FILE is tender-pipeline.toml unless you name another one. run and plan read that name in the
    current folder by themselves, any other with --config FILE.
    """
    check_kept({"FILE": file}, ())
    try:
        with file.open("w" if overwrite else "x", encoding="utf-8") as opened:
            opened.write(_template())
    except FileExistsError as error:
        raise SettingsError(
            f"{file} exists.", "Choose another name, or replace it: --overwrite."
        ) from error
    except OSError as error:
        raise OutputError(
            f"{file} cannot be written: {error.strerror}.", "Choose another place."
        ) from error
    say(f"wrote {file}; delete the # before each setting that you want to use")
    return 0


def _template() -> str:
    groups = (
        "\n".join([f"# {title}", "", *map(_setting, options)])
        for title, options in run.groups.items()
    )
    return "\n".join([HEAD, *groups])


def _setting(option: DeclaredOption) -> str:
    name = option.opts[0].removeprefix("--")
    meaning, _, default = (option.help or "").partition("  [default: ")
    if default:
        meaning += f" Default: {default.removesuffix(']')}."
    if isinstance(option.type, click.Choice):
        meaning += f" One of {', '.join(option.type.choices)}."
    lines = textwrap.wrap(meaning, WIDTH, initial_indent="# ", subsequent_indent="# ")
    return "\n".join([*lines, f"#{name} = {_toml(_value(option))}", ""])


def _value(option: DeclaredOption) -> Any:
    if option.example is not None:
        return option.example
    default = option.to_info_dict()["default"]
    if isinstance(option.type, Names):
        return default.split(",") if isinstance(default, str) else list(default)
    return default


def _toml(value: Any) -> str:
    """Return a value as TOML, in which text, numbers, lists and booleans look as in JSON."""
    return json.dumps(value, ensure_ascii=False)
