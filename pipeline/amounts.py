"""Amounts of money and time as people write them."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from pipeline.errors import SettingsError

__all__ = ["Time", "Usd", "seconds", "usd"]

Usd: TypeAlias = Decimal | str | int | float
"""US dollars; a float counts as what it prints."""

Time: TypeAlias = str | timedelta
"""A time such as ``90min`` or ``6h``."""

UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def usd(name: str, value: Usd) -> Decimal:
    """Return an amount of US dollars, exactly as it is written.

    Raises:
        SettingsError: it is none, or negative.
    """
    try:
        right = isinstance(value, Decimal | str | int | float) and not isinstance(value, bool)
        amount = Decimal(str(value)) if right else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise SettingsError(
            f"{name} is {value!r}.", f"{name} must be US dollars, such as 2.50 ({_flag(name)})."
        )
    return amount


def seconds(name: str, value: Time) -> float:
    """Return a time in seconds.

    Raises:
        SettingsError: it is none.
    """
    if isinstance(value, timedelta) and value >= timedelta(0):
        return value.total_seconds()
    form = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)", str(value).strip(), re.ASCII)
    if form is None:
        raise SettingsError(
            f"{name} is {value!r}.",
            f"{name} must be a time, such as 60s, 90min, 6h or 30d ({_flag(name)}).",
        )
    return float(form[1]) * UNITS[form[2]]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
