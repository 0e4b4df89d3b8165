"""Exact money: US dollars as Decimal, parsed, added and printed without rounding."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Clamped, Context, Decimal, Inexact, InvalidOperation, Overflow
from functools import reduce
from typing import TypeAlias

from pipeline.errors import SettingsError
from pipeline.wording import option

Usd: TypeAlias = Decimal | str | int | float
"""US dollars as a user writes them; a float counts as the digits that it prints."""

ZERO = Decimal(0)

DIGITS, DECIMALS = 38, 24
"""The digits of an amount in files, and how many of them are after the decimal point."""

_EXACT = Context(prec=50, traps=[Inexact, InvalidOperation, Overflow, Clamped])
"""Operators would round as the context of the caller says, which a notebook may have changed."""


def usd(name: str, value: Usd) -> Decimal:
    """Return an amount of US dollars exactly as it was written.

    Raises:
        SettingsError: the value is not an amount, or one that files cannot hold.
    """
    try:
        right = isinstance(value, Decimal | str | int | float) and not isinstance(value, bool)
        amount = Decimal(str(value)) if right else Decimal("NaN")
    except InvalidOperation:
        amount = Decimal("NaN")
    if not is_storable(amount):
        raise SettingsError(
            f"{option(name)} is {value!r}, which is not an amount of US dollars.",
            "Write an amount such as 2.50.",
        )
    return amount


def is_storable(amount: Decimal) -> bool:
    """Return whether every file can hold an amount exactly; none holds a negative one."""
    exponent = amount.as_tuple().exponent
    return (
        isinstance(exponent, int)
        and not amount.is_signed()
        and exponent >= -DECIMALS
        and amount.adjusted() < DIGITS - DECIMALS
    )


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Add amounts of US dollars.

    Raises:
        decimal.Inexact: the sum needs more than 50 digits; it is never rounded.
    """
    return reduce(_EXACT.add, amounts, ZERO)


def difference(amount: Decimal, *others: Decimal) -> Decimal:
    """Subtract amounts of US dollars from another; errors as in `total`."""
    return reduce(_EXACT.subtract, others, amount)


def times(amount: Decimal, count: int) -> Decimal:
    """Multiply an amount of US dollars; errors as in `total`."""
    return _EXACT.multiply(amount, count)


def known_total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Add the known amounts; return None if some are unknown and the known ones add up to 0.

    So an unknown amount never looks like 0, and no known amount is lost from a sum.

    Raises:
        decimal.Inexact: see `total`.
    """
    stated = list(amounts)
    known = total(amount for amount in stated if amount is not None)
    return None if None in stated and not known else known


def plain(amount: Decimal) -> str:
    """Format an amount without an exponent and without trailing zeros."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
