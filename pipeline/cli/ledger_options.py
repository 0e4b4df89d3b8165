"""The options of the ledger's commands, and what they mean."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from pipeline.answers import SYSTEMS
from pipeline.cli.options import DEFAULT_FILE, option
from pipeline.errors import SettingsError
from pipeline.files.directories import data_folder
from pipeline.files.regular import read_toml
from pipeline.rate import seconds

__all__ = [
    "confirm_pruning",
    "in_json",
    "ledger_place",
    "moment",
    "of_systems",
    "on_ledger",
    "progress",
    "waiting",
]

Command = TypeVar("Command", bound=Callable[..., Any])


def on_ledger(command: Command) -> Command:
    """Give a command the option that names its ledger."""
    return option(
        "--ledger",
        "path",
        type=click.Path(path_type=Path),
        help="The ledger.  [default: the settings file's, or the one in your data folder]",
    )(command)


# Without the variables of run: TENDER_PIPELINE_YES is about buying.
in_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
waiting = click.option("--wait", is_flag=True, help="Wait for runs that are in the way.")
of_systems = click.option(
    "--system", "systems", multiple=True, type=click.Choice(SYSTEMS), help="Repeat it for several."
)


def ledger_place(given: Path | None) -> Path:
    """Return the ledger that run would use here."""
    return given or _in_settings_file() or data_folder() / "ledger.db"


def _in_settings_file() -> Path | None:
    if not DEFAULT_FILE.is_file():
        return None
    try:
        named = read_toml(DEFAULT_FILE).get("ledger")
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{DEFAULT_FILE} cannot be read: {error}.", "Write it as TOML, or give --ledger PATH."
        ) from error
    return Path(named) if named and isinstance(named, str) else None


def moment(text: str) -> float:
    """Return the time that is so long ago, or the beginning of a day (UTC), since 1970.

    Raises:
        SettingsError: the text says neither.
    """
    with suppress(ValueError):
        return datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    try:
        return max(0.0, time.time() - seconds("age", text))
    except SettingsError as error:
        raise SettingsError(
            f"The time {text!r} cannot be understood.",
            "Give an age such as 90d, or a day such as 2026-01-31.",
        ) from error


def confirm_pruning() -> None:
    """Ask on a terminal; elsewhere nobody could say no.

    Raises:
        SettingsError: there is no terminal.
        click.Abort: the answer is no.
    """
    if sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        raise SettingsError("Nothing was pruned.", "Say --yes to prune without being asked.")
    click.confirm("Prune them?", abort=True, err=True)


@contextmanager
def progress(responses: int) -> Iterator[Callable[[int], object]]:
    """Show on a terminal how many responses were read; what this yields is told of more."""
    from tqdm import tqdm

    hidden = not sys.stderr.isatty()
    with tqdm(total=responses, unit=" responses", dynamic_ncols=True, disable=hidden) as display:
        yield display.update
