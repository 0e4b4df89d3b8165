from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.paid.ledger.calls import Call, CallOpen, Cost, PastAttempt
from pipeline.paid.ledger.job import CallCount, Counting, Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.maintenance import Verdict
from pipeline.paid.ledger.totals import Tally
from tests.paid.ledger.buying import (
    ANSWERED,
    FINGERPRINT,
    FREE,
    LOST,
    PRICE,
    REFUSED,
    RESERVED,
    ROAD_DIGEST,
    Clock,
    buy,
    note,
    send,
    settle,
)

BRIDGE = Call("cpv", "bridge")
BILLED = Decimal("0.00012")


def test_a_billed_attempt_is_confirmed_money_and_no_longer_at_risk(
    path: Path, job: Job, journal: Journal
) -> None:
    note(job, "road")
    billed, free, left = buy(journal, LOST), buy(journal, LOST), buy(journal, LOST)
    gone = buy(journal, LOST, BRIDGE)
    settle(path, {billed: BILLED, free: "free", gone: BILLED})
    assert job.money() == Tally(4, BILLED * 2, 1, 0, RESERVED)
    assert job.responses_and_costs("cpv", [ROAD_DIGEST])[1] == {ROAD_DIGEST: Cost(0, BILLED)}
    assert job.unattributed() == BILLED
    settle(path, {left: "free"})
    assert job.money() == Tally(4, BILLED * 2, 0, 0, Decimal(0))


@pytest.mark.parametrize("verdict", [BILLED, "free"])
def test_the_limiter_still_knows_that_it_was_sent_and_lost(
    path: Path, ledger: Ledger, journal: Journal, clock: Clock, verdict: Verdict
) -> None:
    attempt = buy(journal, LOST)
    clock.now += 5
    settle(path, {attempt: verdict})
    assert ledger.attempts_since(FINGERPRINT, 0) == [PastAttempt(1_000.0, "unconfirmed")]


def test_an_amount_that_a_user_gave_is_not_a_price_of_the_service(
    path: Path, ledger: Ledger, journal: Journal
) -> None:
    settle(path, {buy(journal, LOST): Decimal(5)})
    assert ledger.prices() is None


def test_only_unconfirmed_attempts_can_be_settled(path: Path, job: Job, journal: Journal) -> None:
    lost = buy(journal, LOST)
    settled = buy(journal, LOST)
    settle(path, {settled: BILLED})
    before = job.money()
    refused = {
        buy(journal, ANSWERED): "is answered",
        buy(journal, REFUSED, BRIDGE): "is refused",
        buy(journal, FREE): "is free",
        settled: "is settled already",
        send(journal): "is under way",
        99: "has no attempt 99",
    }
    for attempt, said in refused.items():
        with pytest.raises(SettingsError, match=said) as caught:
            settle(path, {lost: "free", attempt: BILLED})
        assert "unconfirmed" in caught.value.hint
    assert job.money().unconfirmed == before.unconfirmed + 1  # the one under way: none was settled
    assert job.money().confirmed == before.confirmed + PRICE


@pytest.mark.parametrize("amount", ["-1", "NaN", "Infinity", "1E-25", "1E+14"])
def test_an_amount_that_no_output_could_hold_is_refused(
    path: Path, journal: Journal, amount: str
) -> None:
    attempt = buy(journal, LOST)
    with pytest.raises(SettingsError, match="cannot have cost") as caught:
        settle(path, {attempt: Decimal(amount)})
    assert "0.000105" in caught.value.hint
    settle(path, {attempt: Decimal("99999999999999.000000000000000000000001")})


@pytest.mark.parametrize("verdict", [BILLED, "free"])
def test_a_call_that_billed_errors_hold_is_bought_again(
    path: Path, job: Job, journal: Journal, verdict: Verdict
) -> None:
    note(job, "road")
    attempt = buy(journal, CallOpen("billed", "INTERNAL_ERROR", 500, PRICE))
    strict = replace(job, counting=Counting(most_lost=1))
    assert strict.calls() == {"cpv": CallCount(1, 0, 1)}
    settle(path, {attempt: verdict})
    assert strict.calls() == {"cpv": CallCount(1, 1)}
    assert job.money() == Tally(1, Decimal(0) if verdict == "free" else verdict)
    with pytest.raises(SettingsError, match="settled already"):
        settle(path, {attempt: verdict})


def test_a_price_that_an_error_stated_counts_as_one_of_the_service_and_a_settled_one_does_not(
    path: Path, ledger: Ledger, job: Job, journal: Journal
) -> None:
    lost = buy(journal, LOST)
    buy(journal, CallOpen("billed", "INTERNAL_ERROR", 500, BILLED))
    settle(path, {lost: BILLED * 2})
    assert job.highest_price() == BILLED
    assert ledger.prices() == (BILLED, BILLED)
