"""The user's folders for data, state and caches, in the usual places of each system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import platformdirs

from pipeline.errors import SettingsError

APP = "tender-pipeline"

USUAL_STATE = Path(".local", "state")


def data_folder() -> Path:
    """Return the folder of files that must be kept, such as the ledger.

    Raises:
        SettingsError: the user has no home folder and the environment names no other.
    """
    return _folder(platformdirs.user_data_path, "XDG_DATA_HOME")


def cache_folder() -> Path:
    """Return the folder of files that can be made again; errors as in `data_folder`."""
    return _folder(platformdirs.user_cache_path, "XDG_CACHE_HOME")


def state_folder() -> Path:
    """Return the folder of this machine's state, such as locks; errors as in `data_folder`."""
    return _folder(platformdirs.user_state_path, "XDG_STATE_HOME")


def machine_folder() -> Path:
    """Return the folder that all of this user's processes on this machine share.

    It is in the home folder even if ``XDG_STATE_HOME`` is set, since that variable may differ
    between a shell and a scheduler. If the home folder is not writable, it is `state_folder`.

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


def _folder(find: Callable[[str], Path], variable: str) -> Path:
    try:
        return find(APP)
    except RuntimeError as error:  # as in a container whose user has no passwd entry
        raise SettingsError(
            "This user has no home folder.", f"Set HOME or {variable} to a writable folder."
        ) from error
