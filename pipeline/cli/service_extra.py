"""The folder and the optional packages that the service commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from pipeline.cli.options import LocalPath
from pipeline.errors import SettingsError
from pipeline.files.paths import data_folder
from pipeline.wording import command

DATA_HELP = "The folder of the accounts.  [default: in the user's data folder]"
DATA: dict[str, Any] = {
    "type": LocalPath(path_type=Path, file_okay=False),
    "envvar": "TENDER_PIPELINE_SERVE_DATA",
}
"""The option --data of `serve` and `accounts`; its variable is the same for both."""


def service_folder(given: Path | None) -> Path:
    """Return the folder of the accounts that `serve` would use here."""
    return given or data_folder() / "service"


@contextmanager
def service_extra() -> Iterator[None]:
    """Import modules of the service, whose packages are an extra.

    Raises:
        SettingsError: one of the packages is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise SettingsError(
            f"The service needs the package {error.name}, which is not installed.",
            f"In a copy of the source: {quote(sys.executable)} -m pip install '.[service]'.",
        ) from error


def accounts_command(words: str, folder: Path) -> str:
    """Return a command of ``accounts`` for a person, which finds the same accounts."""
    where = () if folder == service_folder(None) else ("--data", folder)
    return command("accounts", words, *where)
