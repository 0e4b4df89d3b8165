"""The price of an answer, by the number of its matches and the length of their titles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from pipeline.answers import Match
from pipeline.money import ZERO

MARKUP_PERCENTAGE = 50

MAX_MATCHES = 10
"""The maximum number of matches of an answer."""

# In millionths of a US dollar, without markup. Ten matches with 528 characters of titles or more
# cost 100, so that an answer with markup costs 0.0000705 to 0.00015 US dollars; the interface
# calls 0.00007 to 0.00015 typical.
PER_CALL, PER_MATCH, PER_TITLE_CHARACTERS, MOST_FOR_TITLES = 47, 2, 16, 33


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one call, US dollars.

    Attributes:
        base: the price without markup.
        markup: `MARKUP_PERCENTAGE` of it.
        final: the amount charged.
        shares: the share of the base price of each match; they add up to it exactly.
    """

    base: Decimal
    markup: Decimal
    final: Decimal
    shares: tuple[Decimal, ...]


def price(matches: Sequence[Match]) -> Price:
    """Price an answer: 47 + 2 per match + 1 per 16 characters of titles, up to 33 for titles.

    That is in millionths of a US dollar and without markup.
    """
    characters = sum(len(match.title) for match in matches)
    return _price(len(matches), min(MOST_FOR_TITLES, characters // PER_TITLE_CHARACTERS))


def free(matches: Sequence[Match]) -> Price:
    """Price an answer that nobody pays for: every amount is 0."""
    return Price(ZERO, ZERO, ZERO, (ZERO,) * len(matches))


@cache  # an answer has at most ten matches, so there are a few hundred prices
def _price(matches: int, titles: int) -> Price:
    base = 10 * (PER_CALL + PER_MATCH * matches + titles)
    markup = base * MARKUP_PERCENTAGE // 100  # exact: the base is a multiple of ten
    return Price(_usd(base), _usd(markup), _usd(base + markup), _shares(base, matches))


def _shares(units: int, count: int) -> tuple[Decimal, ...]:
    """Split units as evenly as possible; the first shares are larger by one."""
    if count == 0:
        return ()
    share, odd = divmod(units, count)
    return tuple(_usd(share + (number < odd)) for number in range(count))


def _usd(units: int) -> Decimal:
    """Convert units of 0.0000001 dollars, without trailing zeros."""
    return Decimal(units).scaleb(-7).normalize()


LOWEST = _price(0, 0)
"""The lowest price: an answer without matches."""

HIGHEST = _price(MAX_MATCHES, MOST_FOR_TITLES)
"""The highest price."""
