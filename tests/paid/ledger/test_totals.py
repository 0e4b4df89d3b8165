from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.paid.ledger.calls import AttemptEnd, Call, CallEnded
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.totals import PriceRange, Spent, Tally, read_books
from tests.paid.ledger.buying import (
    ANSWERED,
    BASE_URL,
    FINGERPRINT,
    FREE,
    LOST,
    PRICE,
    REFUSED,
    RESERVED,
    SILENT,
    Clock,
    buy,
    send,
    settle,
)

DAY = 86400.0


def priced(price: str) -> CallEnded:
    return CallEnded("answered", 200, b"{}", Decimal(price))


def test_money_is_added_by_day_and_system(
    path: Path, ledger: Ledger, journal: Journal, clock: Clock
) -> None:
    buy(journal)
    buy(journal, ANSWERED, Call("psc", "road"))
    clock.now = DAY - 0.001
    buy(journal)
    clock.now = DAY
    buy(journal, LOST)
    with Snapshot(path) as snapshot:
        found = read_books(snapshot)
    assert found.spent == {
        Spent(BASE_URL, "1970-01-01", "cpv"): Tally(2, PRICE * 2),
        Spent(BASE_URL, "1970-01-01", "psc"): Tally(1, PRICE),
        Spent(BASE_URL, "1970-01-02", "cpv"): Tally(1, Decimal(0), 1, 0, RESERVED),
    }
    assert found.totals(lambda spent: spent.system) == {
        "cpv": Tally(3, PRICE * 2, 1, 0, RESERVED),
        "psc": Tally(1, PRICE),
    }


def test_money_of_two_endpoints_is_never_added_together(
    path: Path, ledger: Ledger, journal: Journal, clock: Clock
) -> None:
    buy(journal)
    other = Ledger(path, "http://localhost:8000", clock)
    buy(Journal(other.open_job("tenders"), FINGERPRINT), priced("5"))
    other.close()
    with Snapshot(path) as snapshot:
        totals = read_books(snapshot).totals(lambda spent: spent.base_url)
    assert totals == {BASE_URL: Tally(1, PRICE), "http://localhost:8000": Tally(1, Decimal(5))}


@pytest.mark.parametrize(
    ("end", "tally"),
    [
        (ANSWERED, Tally(1, PRICE)),
        (SILENT, Tally(1, Decimal(0), 0, 1, RESERVED)),
        (REFUSED, Tally(1, Decimal(0), 0, 1, RESERVED)),
        (LOST, Tally(1, Decimal(0), 1, 0, RESERVED)),
        (FREE, Tally(1)),
        (None, Tally(1, Decimal(0), 1, 0, RESERVED)),
    ],
)
def test_what_is_certain_and_what_is_not_are_counted_apart_as_a_job_does(
    path: Path, job: Job, journal: Journal, end: AttemptEnd | None, tally: Tally
) -> None:
    attempt = send(journal) if end is None else buy(journal, end)
    assert attempt == 1
    with Snapshot(path) as snapshot:
        assert read_books(snapshot).jobs == {job.number: tally}
    money = job.money()
    assert tally == Tally(
        money.attempts, money.confirmed, money.unconfirmed, money.unknown, money.at_risk
    )


def test_what_a_user_settled_is_certain(path: Path, journal: Journal) -> None:
    settle(path, {buy(journal, LOST): Decimal("0.0002"), buy(journal, LOST): "free"})
    with Snapshot(path) as snapshot:
        assert read_books(snapshot).jobs == {1: Tally(2, Decimal("0.0002"))}


def test_the_price_history_has_the_days_on_which_prices_changed(
    path: Path, journal: Journal, clock: Clock
) -> None:
    for day, prices in enumerate([["1", "3", "2"], ["1", "3", "2"], ["4"], ["1", "3", "2"]]):
        clock.now = (day + 0.5) * DAY
        for price in prices:
            buy(journal, priced(price))
        buy(journal, priced("3"), Call("psc", "road"))
        buy(journal, REFUSED)  # free is no price
    with Snapshot(path) as snapshot:
        changes = list(read_books(snapshot).changed_prices())
    usual = PriceRange(Decimal(1), Decimal(3), Decimal(2))
    four, three = (PriceRange(Decimal(price), Decimal(price), Decimal(price)) for price in (4, 3))
    assert changes == [
        (Spent(BASE_URL, "1970-01-01", "cpv"), usual),
        (Spent(BASE_URL, "1970-01-01", "psc"), three),
        (Spent(BASE_URL, "1970-01-03", "cpv"), four),
        (Spent(BASE_URL, "1970-01-04", "cpv"), usual),
    ]


def test_a_time_that_cannot_be_has_no_date(path: Path, journal: Journal) -> None:
    buy(journal)
    with journal._job.database.transaction() as connection:
        connection.execute("UPDATE attempts SET sent_at = 1e18")
    with Snapshot(path) as snapshot:
        assert set(read_books(snapshot).spent) == {Spent(BASE_URL, "no date", "cpv")}
