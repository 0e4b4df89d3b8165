"""Adds up what attempts cost: by job, by day and system, in one pass over the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import islice, repeat
from typing import TypeAlias, TypeVar

from pipeline.errors import LedgerError
from pipeline.money import ZERO, total
from pipeline.paid.ledger.calls import LASTING
from pipeline.paid.ledger.database import Database
from pipeline.paid.ledger.snapshot import Snapshot

__all__ = [
    "Books",
    "PriceRange",
    "Spent",
    "Tally",
    "amount",
    "job_tally",
    "read_books",
    "tally_of",
]

K = TypeVar("K", bound=Hashable)

ATTEMPTS_AT_ONCE = 50_000
"""Attempts read at a time; equal ones among them are counted together."""

ATTEMPTS = """
    SELECT job_id, CAST(sent_at / 86400 AS INTEGER), system, state, cost_usd, reserved_usd
    FROM attempts ORDER BY attempt_id
"""

JOB_ATTEMPTS = """
    SELECT state, cost_usd, reserved_usd, count(*) FROM attempts
    WHERE job_id = ? GROUP BY state, cost_usd, reserved_usd
"""

EPOCH = date(1970, 1, 1).toordinal()

WHOLE_DIGITS, DECIMALS = 16, 30
"""More than any price or reservation has; sums have room for ten thousand times more."""


@dataclass(slots=True)
class Tally:
    """A running sum over attempts, US dollars; the one definition of what is at risk.

    Attributes:
        attempts: requests sent.
        confirmed: the sum of the known prices.
        unconfirmed: attempts whose answer was lost, or has not arrived yet; they may be billed.
        unknown: attempts whose response ended the call and stated no price.
        at_risk: the sum of the reservations of the unconfirmed and the unknown.
    """

    attempts: int = 0
    confirmed: Decimal = ZERO
    unconfirmed: int = 0
    unknown: int = 0
    at_risk: Decimal = ZERO

    def count(self, state: str, cost: str | None, reserved: str, often: int = 1) -> None:
        """Count some equal attempts.

        Args:
            state: their state.
            cost: what each cost; None if unknown, or nothing.
            reserved: the most that each may have cost.
            often: how many there are.

        Raises:
            LedgerError: the ledger has something else as an amount.
        """
        self.attempts += often
        if cost is not None:
            self.confirmed = total([self.confirmed, *repeat(amount(cost), often)])
            return
        lost, unknown = state in ("sent", "unconfirmed"), state in (*LASTING, "pruned")
        self.unconfirmed += often * lost
        self.unknown += often * unknown
        if lost or unknown:
            self.at_risk = total([self.at_risk, *repeat(amount(reserved), often)])

    def add(self, other: Tally) -> None:
        """Add another sum to this one."""
        self.attempts += other.attempts
        self.confirmed = total([self.confirmed, other.confirmed])
        self.unconfirmed += other.unconfirmed
        self.unknown += other.unknown
        self.at_risk = total([self.at_risk, other.at_risk])


@dataclass(frozen=True, slots=True, order=True)
class Spent:
    """Where money was spent: a system at a base URL on a day (UTC)."""

    base_url: str
    day: str
    system: str


@dataclass(slots=True)
class PriceRange:
    """The prices of a day's answers, US dollars."""

    low: Decimal
    high: Decimal
    last: Decimal

    def see(self, price: Decimal) -> None:
        """Add the next price."""
        self.low, self.high, self.last = min(self.low, price), max(self.high, price), price


@dataclass(frozen=True, slots=True)
class Books:
    """Sums over all attempts.

    Attributes:
        spent: what each day's attempts of a system cost.
        jobs: what each job has cost so far, by its number.
        prices: the range of prices on each day.
    """

    spent: dict[Spent, Tally] = field(default_factory=dict)
    jobs: dict[int, Tally] = field(default_factory=dict)
    prices: dict[Spent, PriceRange] = field(default_factory=dict)

    def totals(self, by: Callable[[Spent], K]) -> dict[K, Tally]:
        """Add up what was spent, grouped by what a function returns."""
        sums: dict[K, Tally] = {}
        for where in sorted(self.spent):
            sums.setdefault(by(where), Tally()).add(self.spent[where])
        return sums

    def changed_prices(self) -> Iterator[tuple[Spent, PriceRange]]:
        """Yield the prices of each system's first day, and of each day on which they changed."""
        before: dict[tuple[str, str], PriceRange] = {}
        for where in sorted(self.prices):
            prices = self.prices[where]
            if before.get((where.base_url, where.system)) != prices:
                yield where, prices
            before[where.base_url, where.system] = prices


def read_books(snapshot: Snapshot) -> Books:
    """Add up all attempts."""
    books = Books()
    base_urls = dict(snapshot.rows("SELECT job_id, endpoint FROM jobs"))
    rows = snapshot.rows(ATTEMPTS)
    while some := list(islice(rows, ATTEMPTS_AT_ONCE)):
        _book(books, base_urls, some)
    return books


def job_tally(database: Database | Snapshot, job: int) -> Tally:
    """Add up a job's attempts at one moment."""
    return tally_of(database.rows(JOB_ATTEMPTS, job))


def tally_of(rows: Iterable[tuple[str, str | None, str, int]]) -> Tally:
    """Add up attempts: for each kind, its state, cost, reservation, and how many there are."""
    tally = Tally()
    for state, cost, reserved, often in list(rows):
        tally.count(state, cost, reserved, often)
    return tally


@lru_cache(maxsize=1_000)  # most answers cost the same
def amount(text: object) -> Decimal:
    """Return an amount of the ledger, US dollars.

    Raises:
        LedgerError: it is not an amount, or one that sums could not hold exactly.
    """
    usd = _decimal(text)
    if usd.is_finite() and not usd.is_signed() and usd.adjusted() < WHOLE_DIGITS:
        exponent = usd.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= -DECIMALS:
            return usd
    raise LedgerError(
        f"The ledger has {text!r} instead of an amount of money.",
        "See which attempts are wrong: tender-pipeline ledger verify.",
    )


def _decimal(text: object) -> Decimal:
    try:
        return Decimal(text) if isinstance(text, str) else Decimal("NaN")
    except InvalidOperation:
        return Decimal("NaN")


_Attempt: TypeAlias = tuple[int, int, str, str, str | None, str]


def _book(books: Books, base_urls: dict[int, str], attempts: Sequence[_Attempt]) -> None:
    for (job, day, system, state, cost, reserved), often in Counter(attempts).items():
        alike = Tally()
        alike.count(state, cost, reserved, often)
        where = Spent(base_urls.get(job, "unknown"), _date(day), system)
        books.spent.setdefault(where, Tally()).add(alike)
        books.jobs.setdefault(job, Tally()).add(alike)
    for job, day, system, state, cost, _ in _in_order_of_their_last(attempts):
        if state in ("answered", "pruned") and cost is not None:
            where = Spent(base_urls.get(job, "unknown"), _date(day), system)
            price = amount(cost)
            books.prices.setdefault(where, PriceRange(price, price, price)).see(price)


def _in_order_of_their_last(attempts: Sequence[_Attempt]) -> Iterator[_Attempt]:
    """Yield each distinct attempt once, in the order of their last occurrences."""
    return reversed(dict.fromkeys(reversed(attempts)))


def _date(day: int) -> str:
    """Return the date of a number of days since 1970, which may be any in a damaged ledger."""
    try:
        return date.fromordinal(EPOCH + day).isoformat()
    except (ValueError, OverflowError):
        return "no date"
