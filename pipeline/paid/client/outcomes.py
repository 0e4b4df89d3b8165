"""What a response can mean: one type for each meaning."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from pipeline.answers import Match

__all__ = [
    "Answered",
    "Ended",
    "InsufficientBalance",
    "Outcome",
    "Passing",
    "RateLimited",
    "Refused",
    "Stray",
    "Unauthorized",
    "Unconfirmed",
    "Unreadable",
    "WrongCurrency",
    "WrongPrice",
]


@dataclass(frozen=True, slots=True)
class Answered:
    """The matches, best first, and what they cost; a cost of None is unknown, never 0."""

    matches: tuple[Match, ...]
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Refused:
    """A lasting failure of this text."""

    error: str
    message: str
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A success that nobody can make sense of; it was paid for all the same."""

    reason: str
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class WrongCurrency:
    """An answer priced in another currency than US dollars.

    Attributes:
        currency: what the response calls it.
        cost: the price in that currency, None if unknown.
        matches: what was paid for.
    """

    currency: str
    cost: Decimal | None
    matches: tuple[Match, ...]


Ended: TypeAlias = Answered | Refused | Unreadable
"""What ends a call."""


@dataclass(frozen=True, slots=True)
class WrongPrice:
    """The end of a call with a stated price that cannot be used, which is more than an unknown one.

    Attributes:
        said: why it cannot, in words of the response.
        ended: what was paid for, with an unknown cost.
    """

    said: str
    ended: Ended


@dataclass(frozen=True, slots=True)
class Unauthorized:
    """The key is missing or not accepted."""

    message: str


@dataclass(frozen=True, slots=True)
class InsufficientBalance:
    """The account cannot pay for the call."""

    message: str


@dataclass(frozen=True, slots=True)
class RateLimited:
    """Too many requests; ``wait`` is in seconds, None if the service does not say."""

    wait: float | None


@dataclass(frozen=True, slots=True)
class Passing:
    """The service could not answer and billed nothing; the call may be sent again."""

    error: str


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """The answer was lost on its way; the call may have been billed."""

    error: str


@dataclass(frozen=True, slots=True)
class Stray:
    """Not the service's voice: a wrong base URL, a proxy or a firewall."""

    status: int
    hint: str


Outcome: TypeAlias = (
    Answered
    | Refused
    | Unreadable
    | WrongCurrency
    | WrongPrice
    | Unauthorized
    | InsufficientBalance
    | RateLimited
    | Passing
    | Unconfirmed
    | Stray
)
