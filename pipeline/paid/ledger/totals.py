"""What was spent where, when and on what, read off the attempts in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import islice
from typing import TypeAlias, TypeVar

from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.ledger.tally import Tally, amount

__all__ = ["Books", "OpenJob", "PriceRange", "Spent", "open_jobs", "read_books"]

K = TypeVar("K", bound=Hashable)

ATTEMPTS_AT_ONCE = 50_000
"""Attempts that are alike are counted together, so many at a time whatever the ledger's size."""

ATTEMPTS = """
    SELECT job_id, CAST(sent_at / 86400 AS INTEGER), system, state, cost_usd, reserved_usd
    FROM attempts ORDER BY attempt_id
"""

OPEN_JOBS = """
    SELECT job_id, endpoint, opened_at,
        (SELECT count(*) FROM first_rows WHERE first_rows.job_id = jobs.job_id),
        (SELECT max(sent_at) FROM attempts WHERE attempts.job_id = jobs.job_id)
    FROM jobs WHERE closed_at IS NULL AND identity NOT LIKE 'plan %' ORDER BY job_id
"""

EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True, order=True)
class Spent:
    """Where money went: one system of one endpoint on one day (UTC)."""

    endpoint: str
    day: str
    system: str


@dataclass(slots=True)
class PriceRange:
    """The prices that the answers of a day stated, US dollars."""

    low: Decimal
    high: Decimal
    last: Decimal

    def see(self, price: Decimal) -> None:
        """Take in the next price."""
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
        """Add up what was spent, by endpoint, by day or whatever a function makes of it."""
        sums: dict[K, Tally] = {}
        for where in sorted(self.spent):
            sums.setdefault(by(where), Tally()).add(self.spent[where])
        return sums

    def changed_prices(self) -> Iterator[tuple[Spent, PriceRange]]:
        """Yield the prices of a system's first day and of each whose prices were different."""
        before: dict[tuple[str, str], PriceRange] = {}
        for where in sorted(self.prices):
            prices = self.prices[where]
            if before.get((where.endpoint, where.system)) != prices:
                yield where, prices
            before[where.endpoint, where.system] = prices


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job whose output is not in its place: parked, killed, or under way.

    Attributes:
        number: what it is called in the ledger.
        endpoint: where it buys.
        opened_at: when it was first started, seconds since 1970.
        calls: distinct calls of its table, as far as it is planned.
        last_sent_at: when its last attempt was sent, seconds since 1970; None before the first.
    """

    number: int
    endpoint: str
    opened_at: float
    calls: int
    last_sent_at: float | None


def read_books(snapshot: Snapshot) -> Books:
    """Add up all attempts.

    Raises:
        LedgerError: they cannot be read.
    """
    books = Books()
    endpoints = dict(snapshot.rows("SELECT job_id, endpoint FROM jobs"))
    rows = snapshot.rows(ATTEMPTS)
    while some := list(islice(rows, ATTEMPTS_AT_ONCE)):
        _book(books, endpoints, some)
    return books


def open_jobs(snapshot: Snapshot) -> list[OpenJob]:
    """Return the jobs whose output is not in its place."""
    return [OpenJob(*row) for row in snapshot.rows(OPEN_JOBS)]


_Attempt: TypeAlias = tuple[int, int, str, str, str | None, str]


def _book(books: Books, endpoints: dict[int, str], attempts: Sequence[_Attempt]) -> None:
    for (job, day, system, state, cost, reserved), often in Counter(attempts).items():
        alike = Tally()
        alike.count(state, cost, reserved, often)
        where = Spent(endpoints.get(job, "unknown"), _date(day), system)
        books.spent.setdefault(where, Tally()).add(alike)
        books.jobs.setdefault(job, Tally()).add(alike)
    for job, day, system, state, cost, _ in _in_order_of_their_last(attempts):
        if state in ("answered", "pruned") and cost is not None:
            where = Spent(endpoints.get(job, "unknown"), _date(day), system)
            price = amount(cost)
            books.prices.setdefault(where, PriceRange(price, price, price)).see(price)


def _in_order_of_their_last(attempts: Sequence[_Attempt]) -> Iterator[_Attempt]:
    """Yield each kind of attempt once, at the place of the last of its kind."""
    return reversed(dict.fromkeys(reversed(attempts)))


def _date(day: int) -> str:
    """Return the day of a number of days since 1970; a ledger that is wrong may have any."""
    try:
        return date.fromordinal(EPOCH + day).isoformat()
    except (ValueError, OverflowError):
        return "no date"
