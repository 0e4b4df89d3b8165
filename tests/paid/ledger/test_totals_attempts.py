from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.answers import System
from pipeline.paid.ledger.calls import AttemptEnd, Call
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.totals import STATES, Attempt, Wanted, attempts
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
    send,
)


def numbers(
    path: Path,
    states: Sequence[Wanted] = (),
    systems: Sequence[System] = (),
    since: float | None = None,
    most: int = 100,
) -> list[int]:
    with Snapshot(path) as snapshot:
        return [one.number for one in attempts(snapshot, most, states, systems, since)]


def test_an_attempt_is_shown_with_everything_known_about_it(path: Path, journal: Journal) -> None:
    buy(journal)
    with Snapshot(path) as snapshot:
        (found,) = attempts(snapshot, 1)
    assert found == Attempt(
        number=1,
        job=1,
        base_url=BASE_URL,
        system="cpv",
        digest=ROAD_DIGEST,
        key_fingerprint=FINGERPRINT,
        sent_at=1_000.0,
        settled_at=1_000.0,
        state="answered",
        error=None,
        status=200,
        cost_usd=PRICE,
        reserved_usd=RESERVED,
    )


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


def test_every_state_can_be_asked_for(path: Path, journal: Journal) -> None:
    buy(journal)
    assert [state for state in STATES if numbers(path, (state,))] == ["answered"]


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
