"""``tender-pipeline init``: write a settings file in which every setting is explained."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import click

from pipeline.cli.commands.run import run
from pipeline.cli.options import Names
from pipeline.cli.output.console import say
from pipeline.cli.settings_file import DEFAULT_FILE
from pipeline.errors import OutputError, SettingsError
from pipeline.files.paths import check_kept

__all__ = ["init"]

WIDTH = 88

HEAD = """\
# Settings of `tender-pipeline run` and `plan`, which read this file in the current folder.
# Delete the `#` before a setting to use it. Options and environment variables come first.
"""

FOR_EXAMPLE = {
    "api-key-file": "api-key.txt",
    "base-url": "https://api.example.com",
    "column-prefix": "new_",
    "decisions": ["outputs/tenders.classified.csv.decisions.jsonl"],
    "delimiter": ";",
    "encoding": "cp1252",
    "endpoint-url": "https://minio.example.com",
    "fail-if-no-match": 0.5,
    "header-row": 3,
    "input-format": "csv",
    "ledger": "ledger.db",
    "limit-rows": 100,
    "line-end": "crlf",
    "max-age": "365d",
    "max-cost": "5.00",
    "max-cost-per-day": "20.00",
    "max-cost-per-month": "200.00",
    "max-duration": "6h",
    "metrics-file": "tenders.prom",
    "min-confidence": 0.3,
    "model": ["my-model"],
    "output": "outputs/tenders.csv",
    "output-format": "parquet",
    "preset": "sam",
    "rate": "100/min",
    "report": "report.html",
    "roll-up": 0.5,
    "sheet": "Tenders",
}
"""A value to show for each setting that has no default."""


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
    options = {each.opts[0]: each for each in run.params if isinstance(each, click.Option)}
    groups = (
        "\n".join([f"# {title}", "", *(_setting(options[name]) for name in names)])
        for title, names in run.groups.items()
    )
    return "\n".join([HEAD, *groups])


def _setting(option: click.Option) -> str:
    name = option.opts[0].removeprefix("--")
    meaning, _, default = (option.help or "").partition("  [default: ")
    if default:
        meaning += f" Default: {default.removesuffix(']')}."
    if isinstance(option.type, click.Choice):
        meaning += f" One of {', '.join(option.type.choices)}."
    lines = textwrap.wrap(meaning, WIDTH, initial_indent="# ", subsequent_indent="# ")
    return "\n".join([*lines, f"#{name} = {_toml(_value(option, name))}", ""])


def _value(option: click.Option, name: str) -> Any:
    if name in FOR_EXAMPLE:
        return FOR_EXAMPLE[name]
    default = option.to_info_dict()["default"]
    if isinstance(option.type, Names):
        return default.split(",") if isinstance(default, str) else list(default)
    return default


def _toml(value: Any) -> str:
    """Return a value as TOML, in which text, numbers, lists and booleans look as in JSON."""
    return json.dumps(value, ensure_ascii=False)
