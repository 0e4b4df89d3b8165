"""The folder and the optional packages that the service commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pipeline.errors import SettingsError
from pipeline.files.directories import data_folder

__all__ = ["is_there", "on_data", "service_extra", "service_folder"]

# The variable is the same for `serve` and `accounts`, whose prefixes differ.
on_data = click.option(
    "--data",
    envvar="TENDER_PIPELINE_SERVE_DATA",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the accounts.  [default: in the user's data folder]",
)


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
            "Install it: pip install 'tender-pipeline[service]'.",
        ) from error


def is_there(path: Path) -> bool:
    """Return whether a file or folder exists; also if that cannot be found out."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):  # opening it fails with the reason
        return True
    return True
