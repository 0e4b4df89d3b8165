"""How money is added and held: exactly, or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Clamped, Context, Decimal, Inexact, InvalidOperation, Overflow

import pyarrow as pa

__all__ = ["ARROW_USD", "ZERO", "known_total", "plain", "total"]

ZERO = Decimal(0)

ARROW_USD = pa.decimal128(38, 24)
"""US dollars in Parquet: 14 digits before the point, 24 behind it."""

_EXACT = Context(prec=50, traps=[Inexact, InvalidOperation, Overflow, Clamped])


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Add amounts of US dollars.

    Raises:
        decimal.Inexact: the sum does not fit 50 digits; it is never rounded.
    """
    result = ZERO
    for amount in amounts:
        result = _EXACT.add(result, amount)
    return result


def known_total(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Add amounts of which some are unknown; None if nothing is known to be paid.

    So an unknown amount never looks like 0, and what is known is never lost from a sum.

    Raises:
        decimal.Inexact: see `total`.
    """
    stated = list(amounts)
    known = total(amount for amount in stated if amount is not None)
    return None if None in stated and not known else known


def plain(amount: Decimal) -> str:
    """Write an amount without exponent and without zeros that say nothing."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
