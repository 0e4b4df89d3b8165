from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.ledger import Call, CallEnded, Job, Journal, Ledger, Owned, PastAttempt, Prices
from pipeline.ledger.calls import text_digest
from tests.ledger.buying import (
    ACCOUNT,
    ANSWERED,
    ENDPOINT,
    FREE,
    LOST,
    PRICE,
    REFUSED,
    ROAD_DIGEST,
    SILENT,
    UNREADABLE,
    Clock,
    buy,
    send,
)


def test_an_answer_is_owned_by_every_job_and_after_reopening(
    path: Path, ledger: Ledger, journal: Journal
) -> None:
    buy(journal)
    other = Ledger(path, ENDPOINT)
    assert other.owned("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: Owned(200, ANSWERED.body)}
    other.close()


def test_an_answer_is_owned_for_its_system_and_endpoint_alone(
    path: Path, ledger: Ledger, journal: Journal
) -> None:
    buy(journal)
    assert ledger.owned("psc", [ROAD_DIGEST]) == {}
    rehearsal = Ledger(path, "http://localhost:8000")
    assert rehearsal.owned("cpv", [ROAD_DIGEST]) == {}
    assert rehearsal.prices() is None
    assert rehearsal.attempts_since(ACCOUNT, 0) == []
    rehearsal.close()


@pytest.mark.parametrize("end", [REFUSED, UNREADABLE])
def test_a_lasting_failure_is_owned_unless_it_is_to_be_tried_again(
    ledger: Ledger, journal: Journal, end: CallEnded
) -> None:
    buy(journal, end)
    assert ledger.owned("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: Owned(end.status, end.body)}
    assert ledger.owned("cpv", [ROAD_DIGEST], retry_failed=True) == {}


def test_of_several_lasting_responses_the_last_counts(ledger: Ledger, journal: Journal) -> None:
    buy(journal, REFUSED)
    buy(journal, ANSWERED)
    assert ledger.owned("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: Owned(200, ANSWERED.body)}


def test_what_was_sent_or_failed_in_passing_is_not_owned(ledger: Ledger, journal: Journal) -> None:
    send(journal)
    buy(journal, FREE)
    buy(journal, LOST)
    assert ledger.owned("cpv", [ROAD_DIGEST]) == {}


def test_any_number_of_texts_can_be_asked_for_at_once(ledger: Ledger, journal: Journal) -> None:
    buy(journal)
    texts = [text_digest(str(number)) for number in range(40_000)]
    assert list(ledger.owned("cpv", [*texts, ROAD_DIGEST])) == [ROAD_DIGEST]
    assert ledger.owned("cpv", []) == {}


def test_prices_are_compared_as_numbers_and_not_as_text(ledger: Ledger, journal: Journal) -> None:
    assert ledger.prices() is None
    for cost in ("9E-5", "0.00010", "0.00002"):
        buy(journal, CallEnded("answered", 200, b"", Decimal(cost)))
    buy(journal, SILENT)
    assert ledger.prices() == Prices(Decimal("0.00002"), Decimal("0.00010"))


def test_a_crash_leaves_attempts_that_recovery_makes_unconfirmed(
    ledger: Ledger, journal: Journal, job: Job, clock: Clock
) -> None:
    send(journal)
    send(journal, Call("cpv", "bridge"))
    buy(journal, FREE, Call("cpv", "tunnel"))
    clock.now = 5_000.0
    assert ledger.recover(ACCOUNT) == 2
    assert ledger.recover(ACCOUNT) == 0
    assert job.errors("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: "INTERRUPTED"}
    recovered = PastAttempt(1_000.0, 5_000.0, "unconfirmed")
    assert ledger.attempts_since(ACCOUNT, 4_000.0) == [recovered, recovered]


def test_recovery_leaves_other_accounts_and_endpoints_alone(
    path: Path, ledger: Ledger, journal: Journal, job: Job
) -> None:
    send(journal)
    rehearsal = Ledger(path, "http://localhost:8000")
    assert rehearsal.recover(ACCOUNT) == 0
    rehearsal.close()
    assert ledger.recover("key-2") == 0
    assert ledger.recover(ACCOUNT) == 1


def test_the_limiter_hears_of_attempts_that_ended_late_or_not_yet(
    ledger: Ledger, journal: Journal, job: Job, clock: Clock
) -> None:
    buy(journal)
    clock.now = 1_060.0
    send(journal)
    buy(journal, LOST)
    buy(Journal(job, "key-2"))
    assert ledger.attempts_since(ACCOUNT, 1_000.5) == [
        PastAttempt(1_060.0, None, "sent"),
        PastAttempt(1_060.0, 1_060.0, "unconfirmed"),
    ]
    assert len(ledger.attempts_since(ACCOUNT, 1_000.0)) == 3


def test_the_same_identity_is_the_same_job_until_it_is_closed(
    path: Path, ledger: Ledger, job: Job
) -> None:
    again = Ledger(path, ENDPOINT)
    assert again.open_job("tenders").number == job.number
    assert again.open_job("others").number != job.number
    rehearsal = Ledger(path, "http://localhost:8000")
    assert rehearsal.open_job("tenders").number != job.number
    job.close()
    assert again.open_job("tenders").number != job.number
    again.close()
    rehearsal.close()


def test_money_comes_back_to_the_last_digit(ledger: Ledger, journal: Journal) -> None:
    buy(journal)
    assert str((ledger.prices() or Prices(PRICE, PRICE)).high) == "0.00010499999999999999"
