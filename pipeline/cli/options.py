"""What the commands share: options that a variable or a file can set too, logging and printing."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Mapping
from datetime import date, time
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import click

from pipeline.cli.found_file import note_found_file
from pipeline.errors import OutputError, SettingsError
from pipeline.files.regular import read_toml
from pipeline.settings import CsvOptions

__all__ = [
    "Names",
    "csv_options",
    "labelled_columns",
    "log_to_stderr",
    "option",
    "say",
    "settings_file",
    "silence",
]

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_FILE = Path("tender-pipeline.toml")

SHOWN = 60
"""Characters of a wrong value that a message repeats."""


class Names(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A name or several: separated by commas in an environment variable, a list in TOML."""

    name = "name"

    def split_envvar_value(self, rv: str) -> list[str]:
        """Return the names between the commas, without the spaces around them."""
        return [name.strip() for name in rv.split(",") if name.strip()]


def option(name: str, *more: str, **attributes: Any) -> Callable[[Command], Command]:
    """Declare an option with its variable: ``--text-column`` is ``TENDER_PIPELINE_TEXT_COLUMN``."""
    variable = "TENDER_PIPELINE_" + name.removeprefix("--").replace("-", "_").upper()
    return click.option(name, *more, envvar=variable, show_default=True, **attributes)


def labelled_columns(command: Command) -> Command:
    """Declare the options that name the columns of a labelled table."""
    text = click.option(
        "--text-column",
        "text_columns",
        multiple=True,
        default=["description"],
        show_default=True,
        help="A column that holds the text; repeat it to join several.",
    )
    code = click.option(
        "--code-column",
        default="code",
        show_default=True,
        help="The column that holds the right code.",
    )
    return text(code(command))


def csv_options(values: Mapping[str, Any]) -> CsvOptions:
    """Return how the options of a command say that a CSV file is written."""
    return CsvOptions(
        delimiter=values["delimiter"],
        encoding=values["encoding"],
        line_end=values["line_end"],
        quote_escape=values["quote_escape"],
        header=not values["no_header"],
    )


def log_to_stderr() -> None:
    """Show what the package logs: with the time, unless somebody sits before it."""
    form = "%(message)s" if sys.stderr.isatty() else "%(asctime)s %(message)s"
    logging.basicConfig(format=form, stream=sys.stderr)
    logging.getLogger("pipeline").setLevel(logging.INFO)


def say(text: str) -> None:
    """Print to standard output; that its reader has gone (``| head``) is no error.

    Raises:
        OutputError: it cannot be written to for another reason.
    """
    try:
        click.echo(text)
    except OSError as error:
        silence()
        if error.errno != errno.EPIPE:
            raise OutputError(
                f"Standard output cannot be written to: {error.strerror or error}.",
                "Free some space, or print elsewhere.",
            ) from error


def silence() -> None:
    """Let what is printed from here on go nowhere: the interpreter's last flush would fail too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def settings_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Make what a settings file says the command's defaults.

    Without a path ``tender-pipeline.toml`` in the current folder is read, if there is one; see
    `pipeline.cli.found_file` for what it may not decide.

    Raises:
        SettingsError: the file cannot be read, or holds an option that there is not or a value
            that is none for its option.
    """
    if path is None:
        if not DEFAULT_FILE.is_file():
            return
        path = DEFAULT_FILE
        note_found_file(context, path)
    try:
        settings = read_toml(path)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}.", "Write it as TOML.") from error
    options = {
        p.opts[0].removeprefix("--"): p
        for p in context.command.params
        if isinstance(p, click.Option) and p is not parameter
    }
    context.default_map = {
        str(named.name): _value(value, named, f"{path}: {name}")
        for name, value in settings.items()
        for named in [_named(name, value, options, path)]
        if value != ""  # unset, as in the environment
    }


def _named(name: str, value: Any, options: Mapping[str, click.Option], path: Path) -> click.Option:
    wanted = name.replace("_", "-")
    if wanted in options:
        return options[wanted]
    if wanted == "config":
        raise SettingsError(
            f"{path}: a settings file cannot name another one.",
            "Take the line out; name the file on the command line: --config PATH.",
        )
    if isinstance(value, dict):
        raise SettingsError(
            f"{path}: there is no table [{name}].",
            f"Take the line [{name}] out: all settings stand at the top of the file.",
        )
    close = get_close_matches(wanted, options, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(options)}."
    raise SettingsError(f"{path}: there is no setting {name!r}.", hint)


def _value(value: Any, option: click.Option, place: str) -> Any:
    """Return a value of TOML as click takes it for an option, if it is of the option's type."""
    wanted, right = _wanted(value, option)
    if not right:
        raise SettingsError(f"{place} is {_shown(value)}.", f"It must be {wanted}.")
    if option.multiple:
        return value if isinstance(value, list) else [value]
    return ",".join(value) if isinstance(value, list) else value


def _wanted(value: Any, option: click.Option) -> tuple[str, bool]:
    """Return what an option wants, in words, and whether a value is that."""
    if option.is_flag:
        return "true or false", isinstance(value, bool)
    if isinstance(option.type, click.types.IntParamType):
        return "a whole number", isinstance(value, int) and not isinstance(value, bool)
    if isinstance(option.type, click.types.FloatParamType):
        return "a number", isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(option.type, Names):
        names = value if isinstance(value, list) else [value]
        return "a name or a list of names", all(isinstance(name, str) for name in names)
    return "text, in quotes", isinstance(value, str)


def _shown(value: Any) -> str:
    """Return a value much as the file has it."""
    if isinstance(value, bool | date | time):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
