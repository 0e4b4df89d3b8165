"""Formats shares, differences, probabilities and prices for people."""

from __future__ import annotations

from decimal import Decimal

from pipeline.evaluation.metrics import Share
from pipeline.money import plain
from pipeline.quoting import how_many

__all__ = ["p_value", "percent", "points", "price", "rows", "within"]


def percent(share: float) -> str:
    """Write a share: ``41.3 %``."""
    return f"{share:.1%}".replace("%", " %")


def within(share: Share) -> str:
    """Write the interval of a share: ``34.4 to 47.9 %``; ``-`` for no rows."""
    if not share.rows:
        return "-"
    low, high = share.interval
    return f"{100 * low:.1f} to {percent(high)}"


def points(difference: float) -> str:
    """Write a difference of two shares in points, with its sign: ``+21.0``."""
    points = f"{100 * difference:+.1f}"
    return "0.0" if float(points) == 0 else points.replace("-", "\N{MINUS SIGN}")


def p_value(p: float) -> str:
    """Write a probability: ``p = 0.031``, ``p < 0.0001``."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def price(amount: Decimal) -> str:
    """Write a computed amount: ``0.00052 USD``."""
    digits = f"{amount:.2g}" if amount < 1 else f"{amount:.2f}"
    return f"{plain(Decimal(digits))} USD"


def rows(number: int) -> str:
    """Write a number of rows."""
    return how_many(number, "row")
