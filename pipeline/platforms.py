"""Says where the package works, before a missing module of the system would with a traceback."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from pipeline.errors import SettingsError

__all__ = ["NEEDED", "check_platform"]

NEEDED = ("fcntl", "resource")
"""The modules of Python that POSIX systems have and Windows lacks, as far as they are imported."""


def check_platform() -> None:
    """Refuse a system that cannot lock files as outputs and ledgers need it.

    Raises:
        SettingsError: the system is not POSIX.
    """
    if any(find_spec(name) is None for name in NEEDED):
        raise SettingsError(
            "tender-pipeline needs a POSIX system, such as Linux or macOS; "
            f"this is {sys.platform}.",
            "On Windows, install it in the Windows Subsystem for Linux (WSL).",
        )
