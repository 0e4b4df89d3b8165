"""What an answer costs: more for more matches with longer titles, the same for the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from pipeline.answers import Match

__all__ = [
    "HIGHEST",
    "LOWEST",
    "MARKUP_PERCENTAGE",
    "MAX_MATCHES",
    "MOST_FOR_TITLES",
    "PER_CALL",
    "PER_MATCH",
    "PER_TITLE_CHARACTERS",
    "Price",
    "price",
]

MARKUP_PERCENTAGE = 50

MAX_MATCHES = 10
"""Matches that an answer has at most."""

# In millionths of a US dollar, without markup. Ten matches whose titles have 528 characters or
# more cost 100, so that with the markup an answer costs 0.0000705 to 0.00015 US dollars; the
# interface calls 0.00007 to 0.00015 typical.
PER_CALL, PER_MATCH, PER_TITLE_CHARACTERS, MOST_FOR_TITLES = 47, 2, 16, 33


@dataclass(frozen=True, slots=True)
class Price:
    """What one call costs, US dollars.

    Attributes:
        base: the price without markup.
        markup: `MARKUP_PERCENTAGE` of it.
        final: what the account pays.
        shares: how much of the base price each match has; they add up to it exactly.
    """

    base: Decimal
    markup: Decimal
    final: Decimal
    shares: tuple[Decimal, ...]


def price(matches: Sequence[Match]) -> Price:
    """Price an answer: 47 + 2 a match + 1 per 16 characters of titles, of these at most 33.

    That is in millionths of a US dollar and without markup. An answer without matches costs the
    least, and there is nothing to share its price over.
    """
    return _price(len(matches), sum(len(match.title) for match in matches))


def _price(matches: int, characters: int) -> Price:
    titles = min(MOST_FOR_TITLES, characters // PER_TITLE_CHARACTERS)
    base = 10 * (PER_CALL + PER_MATCH * matches + titles)
    markup = base * MARKUP_PERCENTAGE // 100  # exact: the base is a multiple of ten
    return Price(_usd(base), _usd(markup), _usd(base + markup), _shares(base, matches))


def _shares(units: int, count: int) -> tuple[Decimal, ...]:
    """Share units as evenly as they can be; the first get the odd ones."""
    if count == 0:
        return ()
    each, odd = divmod(units, count)
    return tuple(_usd(each + (place < odd)) for place in range(count))


def _usd(units: int) -> Decimal:
    """Turn units of a tenth of a millionth into dollars, without zeros that say nothing."""
    return Decimal(units).scaleb(-7).normalize()


LOWEST = _price(0, 0)
"""What an answer costs at least: one without matches."""

HIGHEST = _price(MAX_MATCHES, MOST_FOR_TITLES * PER_TITLE_CHARACTERS)
"""What an answer costs at most."""
