"""Declares the options of the ledger's commands, and reads their values."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from pipeline.answers import SYSTEMS
from pipeline.cli.options import SETTINGS_FILE, LocalPath
from pipeline.cli.output.console import on_terminal, progress_display
from pipeline.cli.settings_file import DEFAULT_FILE
from pipeline.errors import SettingsError
from pipeline.files.paths import AnyPath, check_kept, data_folder
from pipeline.files.regular import read_toml
from pipeline.progress import Count, silent
from pipeline.rate import seconds
from pipeline.settings import LEDGER_VARIABLE


def ledger_file(path: Path | None) -> Path:
    """Return the ledger that ``run`` would use here, unless a path is given."""
    return path or _in_settings_file() or data_folder() / "ledger.db"


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


on_ledger = click.option(
    "--ledger",
    "path",
    envvar=LEDGER_VARIABLE,
    type=LocalPath(path_type=Path),
    callback=lambda _context, _option, path: ledger_file(path),
    help="The ledger.  [default: the settings file's, or the one in your data folder]",
)

# Without the variables of run: TENDER_PIPELINE_WAIT is about buying.
waiting = click.option("--wait", is_flag=True, help="Wait for other runs to finish.")
of_systems = click.option(
    "--system",
    "systems",
    multiple=True,
    type=click.Choice(SYSTEMS),
    help="Only this system; repeat it for several.",
)


def check_apart(
    written: Mapping[str, AnyPath | None],
    kept: Sequence[tuple[str, AnyPath | None]],
    ledger: Path | None,
) -> None:
    """Check what a command writes as `check_kept` does; the settings file is kept, too."""
    settings_file = click.get_current_context().meta.get(SETTINGS_FILE)
    kept_ledger = None
    with suppress(SettingsError):  # a user without a home folder has no ledger there
        kept_ledger = ledger_file(ledger)
    check_kept(written, [*kept, ("the settings file", settings_file)], kept_ledger)


def moment(text: str) -> float:
    """Return an age (``90d``) as a time since 1970, or the beginning of a day (UTC).

    Raises:
        SettingsError: the text is neither.
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
    """Ask whether to prune; without a terminal, nobody could say no.

    Raises:
        SettingsError: there is no terminal.
        click.Abort: the answer is no.
    """
    if not on_terminal():
        raise SettingsError("Nothing was pruned.", "Use --yes to prune without being asked.")
    click.confirm("Prune them?", abort=True, err=True)


def progress(responses: int) -> AbstractContextManager[Count]:
    """Show on a terminal how many responses were read."""
    return progress_display(silent)(responses, "responses")
