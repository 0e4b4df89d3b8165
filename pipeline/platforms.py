"""Refuses unsupported systems with a clear message, before an import fails with a traceback."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from pipeline.errors import SettingsError

__all__ = ["NEEDED", "check_platform"]

NEEDED = ("fcntl", "resource")
"""The POSIX-only modules of Python that the package imports."""


def check_platform() -> None:
    """Refuse a system without the file locks that outputs and ledgers need.

    Raises:
        SettingsError: the system is not POSIX.
    """
    if any(find_spec(name) is None for name in NEEDED):
        raise SettingsError(
            "tender-pipeline needs a POSIX system, such as Linux or macOS; "
            f"this is {sys.platform}.",
            "On Windows, install it in the Windows Subsystem for Linux (WSL).",
        )
