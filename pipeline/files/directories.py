"""Where this user's data, state and caches are kept, on every system in its usual place."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs

from pipeline.errors import SettingsError

__all__ = ["cache_folder", "data_folder", "machine_folder", "state_folder"]

APP = "tender-pipeline"

USUAL_STATE = Path(".local", "state")


def data_folder() -> Path:
    """Return the folder of what must stay.

    Raises:
        SettingsError: the user has no home folder and the environment names no other.
    """
    try:
        return platformdirs.user_data_path(APP)
    except RuntimeError as error:  # as in a container whose user has no passwd entry
        raise _homeless("XDG_DATA_HOME") from error


def cache_folder() -> Path:
    """Return the folder of what can be made again.

    Raises:
        SettingsError: the user has no home folder and the environment names no other.
    """
    try:
        return platformdirs.user_cache_path(APP)
    except RuntimeError as error:
        raise _homeless("XDG_CACHE_HOME") from error


def state_folder() -> Path:
    """Return the folder of what concerns this machine alone, such as locks.

    Raises:
        SettingsError: the user has no home folder and the environment names no other.
    """
    try:
        return platformdirs.user_state_path(APP)
    except RuntimeError as error:
        raise _homeless("XDG_STATE_HOME") from error


def machine_folder() -> Path:
    """Return the folder of what all of this user's processes on this machine must share.

    It is in the home folder whatever ``XDG_STATE_HOME`` says, since a scheduler's job and a shell
    may differ in that; only where nothing can be made there is it the state folder.

    Raises:
        SettingsError: the user has no home folder and the environment names no other.
    """
    usual = Path("Library", "Application Support") if sys.platform == "darwin" else USUAL_STATE
    try:
        folder = Path.home() / usual / APP
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return state_folder()
    return folder if os.access(folder, os.W_OK | os.X_OK) else state_folder()


def _homeless(variable: str) -> SettingsError:
    return SettingsError(
        "This user has no home folder.", f"Set HOME or {variable} to a folder that can be written."
    )
