"""How money, times and numbers are written on pages."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from markupsafe import Markup

from pipeline.money import plain
from pipeline.quoting import how_many
from pipeline.rate import Rate
from pipeline.service.times import iso

__all__ = ["rate_words", "usd", "when"]

WINDOWS = {1.0: "second", 60.0: "minute", 3600.0: "hour", 86400.0: "day"}


def usd(amount: Decimal, places: int = 2) -> str:
    """Write an amount exactly, with at least `places` decimal places."""
    text = plain(abs(amount))
    whole, _, fraction = text.partition(".")
    sign = "\N{MINUS SIGN}" if amount < 0 else ""
    return f"{sign}{int(whole):,}.{fraction.ljust(places, '0')}"


def when(at: float) -> Markup:
    """Write a time for people: UTC, to the second."""
    moment = datetime.fromtimestamp(at, UTC)
    return Markup('<time datetime="{}">{}</time>').format(iso(at), f"{moment:%Y-%m-%d %H:%M:%S}")


def rate_words(rate: Rate | None) -> str:
    """Write a limit: 100 requests a minute."""
    if rate is None:
        return "any number of requests"
    window = WINDOWS.get(rate.window)
    words = f"a{'n' if window == 'hour' else ''} {window}" if window else f"in {rate.window:g} s"
    return f"{how_many(rate.slots, 'request')} {words}"
