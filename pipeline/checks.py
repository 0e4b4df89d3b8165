"""Checks of arguments that several settings classes share."""

from __future__ import annotations

import operator
import sys
from typing import Any

from pipeline.errors import SettingsError

__all__ = ["check_flag", "option_name", "whole_number"]


def option_name(argument: str) -> str:
    """Return the command line option of an argument: ``--max-cost`` for ``max_cost``."""
    return f"--{argument.replace('_', '-')}"


def check_flag(name: str, value: object) -> None:
    """Refuse a value that is neither True nor False: ``"no"`` would count as yes.

    Raises:
        SettingsError: the value is not a bool.
    """
    if not isinstance(value, bool):
        raise SettingsError(f"{name} is {value!r}.", f"{name} must be True or False.")


def whole_number(name: str, value: Any, low: int, high: int = sys.maxsize) -> int:
    """Return a whole number of any integer type, NumPy's too, as a Python int.

    Raises:
        SettingsError: the value is not a whole number, or outside the bounds.
    """
    top = f" to {high}" if high < sys.maxsize else ""
    hint = f"{name} must be a whole number from {low}{top} ({option_name(name)})."
    try:
        number = operator.index(value)
    except TypeError as error:
        raise SettingsError(f"{name} is {value!r}.", hint) from error
    if isinstance(value, bool) or not low <= number <= high:
        raise SettingsError(f"{name} is {value!r}.", hint)
    return number
