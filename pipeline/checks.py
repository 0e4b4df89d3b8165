"""Checks of arguments that several settings classes share, and of the system."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from numbers import Real
from typing import Any

from pipeline.errors import SettingsError
from pipeline.wording import option


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices.

    Raises:
        SettingsError: it is none.
    """
    if value not in choices:
        raise SettingsError(
            f"{option(name)} is {value!r}.", f"{option(name)} must be one of {', '.join(choices)}."
        )


def check_flag(name: str, value: object) -> None:
    """Refuse a value that is neither True nor False: ``"no"`` would count as yes.

    Raises:
        SettingsError: the value is not a bool.
    """
    if not isinstance(value, bool):
        raise SettingsError(f"{name} is {value!r}.", f"{name} must be True or False.")


def check_column(name: str, value: object) -> None:
    """Refuse a value that is not the name of a column.

    Raises:
        SettingsError: it is none.
    """
    if not isinstance(value, str) or not value:
        called = option(name)
        raise SettingsError(f"{called} is {value!r}.", f"{called} must name a column.")


def whole_number(name: str, value: Any, low: int, high: int = sys.maxsize) -> int:
    """Return a whole number of any integer type, NumPy's too, as a Python int.

    Raises:
        SettingsError: the value is not a whole number, or outside the bounds.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not low <= number <= high:
        top = f" to {high}" if high < sys.maxsize else ""
        called = option(name)
        hint = f"{called} must be a whole number from {low}{top}."
        raise SettingsError(f"{called} is {value!r}.", hint)
    return number


def fraction(name: str, value: Any, over_zero: bool = False) -> float:
    """Return a fraction of any real type, NumPy's too, as a Python float.

    Raises:
        SettingsError: the value is not a number, or outside 0 to 1.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else -1.0
    if not (0.0 < number <= 1.0 or (number == 0.0 and not over_zero)):
        wanted = "over 0, up to 1, such as 0.8" if over_zero else "from 0 to 1, such as 0.5"
        called = option(name)
        raise SettingsError(f"{called} is {value!r}.", f"{called} must be a fraction {wanted}.")
    return number


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
