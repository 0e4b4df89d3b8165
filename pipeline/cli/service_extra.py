"""The folder and the optional packages that the service commands share."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import click

from pipeline.errors import SettingsError
from pipeline.files.directories import data_folder

__all__ = ["is_there", "on_data", "service_folder", "service_package"]

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


def service_package(part: str) -> ModuleType:
    """Import the service package, whose dependencies are optional, and one of its modules.

    Args:
        part: a module that needs every dependency of the command.

    Raises:
        SettingsError: the packages of the extra are not installed.
    """
    try:
        import_module(f"pipeline.service.{part}")
        return import_module("pipeline.service")
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
