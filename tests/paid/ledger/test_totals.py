from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import pytest

from pipeline.answers import System
from pipeline.paid.ledger.calls import AttemptEnd, Call, CallEnded
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.totals import (
    Spent,
    Tally,
    Wanted,
    attempts,
    open_jobs,
    read_spending,
    total_by,
)
from tests.paid.ledger.buying import (
    ANSWERED,
    BASE_URL,
    FINGERPRINT,
    FREE,
    LOST,
    PRICE,
    REFUSED,
    RESERVED,
    ROAD,
    ROAD_DIGEST,
    UNREADABLE,
    Clock,
    buy,
    note,
    send,
)

DAY = 86400.0

T = TypeVar("T")


def seen(path: Path, look: Callable[[Snapshot], T]) -> T:
    with Snapshot(path) as snapshot:
        return look(snapshot)


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
    found = seen(path, read_spending)
    assert found == {
        Spent(BASE_URL, "1970-01-01", "cpv"): Tally(2, PRICE * 2),
        Spent(BASE_URL, "1970-01-01", "psc"): Tally(1, PRICE),
        Spent(BASE_URL, "1970-01-02", "cpv"): Tally(1, Decimal(0), 1, 0, RESERVED),
    }
    assert total_by(lambda spent: spent.system, found) == {
        "cpv": Tally(3, PRICE * 2, 1, 0, RESERVED),
        "psc": Tally(1, PRICE),
    }


def numbers(
    path: Path,
    states: Sequence[Wanted] = (),
    systems: Sequence[System] = (),
    since: float | None = None,
    most: int = 100,
) -> list[int]:
    with Snapshot(path) as snapshot:
        return [one.attempt for one in attempts(snapshot, most, states, systems, since)]


def test_an_attempt_is_shown_with_everything_known_about_it(path: Path, journal: Journal) -> None:
    buy(journal)
    with Snapshot(path) as snapshot:
        (found,) = attempts(snapshot, 1)
    named = (1, 1, BASE_URL, "cpv", ROAD_DIGEST.hex(), FINGERPRINT)
    ended = (1_000.0, 1_000.0, "answered", None, 200)
    assert found == (*named, *ended, PRICE, RESERVED)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ((), [6, 5, 4, 3, 2, 1]),
        (("answered",), [1]),
        (("unconfirmed",), [4]),
        (("sent",), [6]),
        (("failed",), [5, 3, 2]),
        (("failed", "unconfirmed", "sent"), [6, 5, 4, 3, 2]),
        (("pruned",), []),
    ],
)
def test_attempts_are_selected_by_state_the_latest_first(
    path: Path, journal: Journal, states: Sequence[Wanted], expected: list[int]
) -> None:
    ends: list[AttemptEnd] = [ANSWERED, REFUSED, UNREADABLE, LOST, FREE]
    for place, end in enumerate(ends):
        buy(journal, end, Call("cpv", f"text {place}"))
    send(journal, Call("cpv", "text 5"))
    assert numbers(path, states) == expected


def test_what_went_well_later_has_not_failed(
    path: Path, ledger: Ledger, journal: Journal, clock: Clock
) -> None:
    buy(journal, FREE)
    again = buy(journal, FREE)
    assert numbers(path, ("failed",)) == [again]  # once a call, not once a try
    other = buy(journal, FREE, Call("psc", "road"))
    elsewhere = Ledger(path, "http://localhost:8000", clock)
    buy(Journal(elsewhere.open_job("tenders"), FINGERPRINT), ANSWERED, ROAD)
    elsewhere.close()
    assert numbers(path, ("failed",)) == [other, again]
    buy(journal, ANSWERED)
    assert numbers(path, ("failed",)) == [other]


def test_attempts_are_selected_by_system_time_and_number(
    path: Path, journal: Journal, clock: Clock
) -> None:
    buy(journal)
    clock.now = 2_000.0
    buy(journal, LOST, Call("psc", "road"))
    buy(journal, ANSWERED, Call("naics", "road"))
    assert numbers(path, systems=("cpv", "psc")) == [2, 1]
    assert numbers(path, since=2_000.0) == [3, 2]
    assert numbers(path, ("unconfirmed", "failed"), ("psc",), 1_500.0) == [2]
    assert numbers(path, most=2) == [3, 2]


def test_open_jobs_are_those_without_an_output_and_no_plans(
    path: Path, ledger: Ledger, job: Job, journal: Journal, clock: Clock
) -> None:
    ledger.open_job("done").close()
    with closing(Ledger(path, BASE_URL)) as other:
        note(other.open_plan("tenders"), "road", "bridge", "tunnel")
    note(job, "road", "bridge")
    clock.now = 2_000.0
    buy(journal)
    ledger.open_job("just begun")
    found = seen(path, open_jobs)
    assert [(one.opened_at, one.calls, one.last_sent_at) for one in found] == [
        (1_000.0, 2, 2_000.0),
        (2_000.0, 0, None),
    ]
    assert found[0].job == job.number
    assert (found[0].cost.attempts, found[0].cost.confirmed) == (1, PRICE)
    assert found[1].cost.confirmed == Decimal(0)
