"""Options that also have an environment variable and a place in the settings file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import click

from pipeline.errors import SettingsError

__all__ = ["Names", "option", "settings_file"]

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_FILE = Path("tender-pipeline.toml")


class Names(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A name; in an environment variable several are separated by commas."""

    name = "name"
    envvar_list_splitter = ","


def option(name: str, *more: str, **attributes: Any) -> Callable[[Command], Command]:
    """Declare an option with its variable: ``--text-column`` is ``TENDER_PIPELINE_TEXT_COLUMN``."""
    variable = "TENDER_PIPELINE_" + name.removeprefix("--").replace("-", "_").upper()
    return click.option(name, *more, envvar=variable, show_default=True, **attributes)


def settings_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> None:
    """Make what a settings file says the command's defaults.

    Without a path ``tender-pipeline.toml`` in the current folder is read, if there is one.

    Raises:
        SettingsError: the file cannot be read, or holds an option that there is not.
    """
    if path is None and not DEFAULT_FILE.is_file():
        return
    path = path or DEFAULT_FILE
    try:
        settings = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}.", "Write it as TOML.") from error
    options = {
        str(p.name): p
        for p in context.command.params
        if isinstance(p, click.Option) and p is not parameter
    }
    context.default_map = {
        str(named.name): _value(value, named)
        for name, value in settings.items()
        for named in [_named(name, options, path)]
    }


def _named(name: str, options: Mapping[str, click.Option], path: Path) -> click.Option:
    by_flag = {option.opts[0].removeprefix("--"): option for option in options.values()}
    wanted = name.replace("_", "-")
    if wanted in by_flag:
        return by_flag[wanted]
    close = get_close_matches(wanted, by_flag, n=1, cutoff=0.0)
    raise SettingsError(f"{path}: there is no setting {name!r}.", f"Did you mean {close[0]!r}?")


def _value(value: Any, option: click.Option) -> Any:
    """Let a list stand for comma-separated names, and a single name for a list of one."""
    if option.multiple:
        return value if isinstance(value, list) else [value]
    return ",".join(map(str, value)) if isinstance(value, list) else value
