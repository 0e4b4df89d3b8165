from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.paid.ledger.calls import Call, CallEnded, PastAttempt, RateRefusal, text_digest
from pipeline.paid.ledger.job import CallCount, Counting, Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from tests.paid.ledger.buying import (
    BASE_URL,
    FINGERPRINT,
    FREE,
    LOST,
    REFUSED,
    ROAD_DIGEST,
    SILENT,
    Clock,
    buy,
    finish,
    note,
    send,
)


def test_a_plan_sees_what_its_job_sees_and_leaves_nothing(
    path: Path, job: Job, journal: Journal, clock: Clock
) -> None:
    note(job, "road")
    buy(journal, REFUSED)
    buy(journal, LOST, Call("cpv", "bridge"))
    clock.now += 60
    with closing(Ledger(path, BASE_URL, clock)) as ledger:
        plan = ledger.open_plan("tenders", Counting(max_age=1, retry_failed=True, most_lost=1))
        note(plan, "road", "bridge", "tunnel")
        assert plan.calls() == {"cpv": CallCount(3, 1, 1)}
        assert job.calls() == {"cpv": CallCount(1, 0)}
    with closing(Ledger(path, BASE_URL, clock)) as ledger:
        stranger = ledger.open_plan("others", Counting(max_age=1))
        note(stranger, "road")
        assert stranger.calls() == {"cpv": CallCount(1, 1)}
    assert list(job.database.rows("SELECT identity FROM jobs")) == [("tenders",)]
    assert list(job.database.rows("SELECT count(*) FROM first_rows")) == [(1,)]


def test_any_number_of_texts_can_be_asked_for_at_once(job: Job, journal: Journal) -> None:
    buy(journal)
    texts = [text_digest(str(number)) for number in range(40_000)]
    assert list(job.responses("cpv", [*texts, ROAD_DIGEST])) == [ROAD_DIGEST]
    assert job.responses("cpv", []) == {}


def test_prices_are_compared_as_numbers_and_not_as_text(ledger: Ledger, journal: Journal) -> None:
    assert ledger.prices() is None
    for cost in ("9E-5", "0.00010", "0.00002"):
        buy(journal, CallEnded("answered", 200, b"", Decimal(cost)))
    buy(journal, SILENT)
    assert ledger.prices() == (Decimal("0.00002"), Decimal("0.00010"))
    assert ledger.prices(Decimal("0.00009")) == (Decimal("0.00002"), Decimal("9E-5"))
    assert ledger.prices(Decimal("0.00001")) is None


def test_a_refusal_that_was_free_says_nothing_of_prices(ledger: Ledger, journal: Journal) -> None:
    buy(journal, CallEnded("refused", 400, b"", Decimal(0), "VALIDATION_ERROR"))
    assert ledger.prices() is None
    buy(journal, CallEnded("refused", 400, b"", Decimal("0.0004"), "VALIDATION_ERROR"))
    assert ledger.prices() == (Decimal("0.0004"), Decimal("0.0004"))


@pytest.mark.parametrize("free", ["0", "0.0", "0E-7"])
def test_a_demo_call_that_was_free_says_nothing_of_prices(
    ledger: Ledger, job: Job, free: str
) -> None:
    demo = Journal(job, "demo")
    buy(demo, CallEnded("answered", 200, b"", Decimal(free)))
    assert ledger.prices() is None
    buy(demo, CallEnded("answered", 200, b"", Decimal("0.0004")))
    assert ledger.prices() == (Decimal("0.0004"), Decimal("0.0004"))
    buy(Journal(job, FINGERPRINT), CallEnded("answered", 200, b"", Decimal(free)))
    assert ledger.prices() == (Decimal(0), Decimal("0.0004"))


def test_a_crash_leaves_attempts_that_recovery_makes_unconfirmed(
    ledger: Ledger, journal: Journal, job: Job, clock: Clock
) -> None:
    send(journal)
    send(journal, Call("cpv", "bridge"))
    buy(journal, FREE, Call("cpv", "tunnel"))
    clock.now = 5_000.0
    assert ledger.recover(FINGERPRINT) == 2
    assert ledger.recover(FINGERPRINT) == 0
    assert job.errors("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: "INTERRUPTED"}
    recovered = PastAttempt(5_000.0, "unconfirmed")
    assert ledger.attempts_since(FINGERPRINT, 4_000.0) == [recovered, recovered]


def test_the_limiter_counts_attempts_that_ended_late_or_not_yet(
    ledger: Ledger, journal: Journal, job: Job, clock: Clock
) -> None:
    buy(journal)
    clock.now = 1_060.0
    send(journal)
    buy(journal, LOST)
    buy(Journal(job, "key-2"))
    assert ledger.attempts_since(FINGERPRINT, 1_000.5) == [
        PastAttempt(None, "sent"),
        PastAttempt(1_060.0, "unconfirmed"),
    ]
    assert len(ledger.attempts_since(FINGERPRINT, 1_000.0)) == 3


def test_what_a_refusal_taught_is_kept_with_the_refusal(
    path: Path, ledger: Ledger, journal: Journal, clock: Clock
) -> None:
    assert ledger.last_refusal(FINGERPRINT) is None
    attempt = send(journal)
    finish(journal, attempt, FREE, RateRefusal(75, 60.0))
    other = Ledger(path, BASE_URL)
    assert other.last_refusal(FINGERPRINT) == RateRefusal(75, 60.0, 1_000.0)
    clock.now = 2_000.0
    finish(journal, send(journal), FREE, RateRefusal(56, 7.5))
    buy(journal)
    assert other.last_refusal(FINGERPRINT) == RateRefusal(56, 7.5, 2_000.0)
    assert other.last_refusal("key-2") is None
    other.close()
    rehearsal = Ledger(path, "http://localhost:8000")
    assert rehearsal.last_refusal(FINGERPRINT) is None
    rehearsal.close()
