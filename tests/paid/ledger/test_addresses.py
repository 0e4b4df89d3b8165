"""Two language models at one address: one key, one buyer and one limit; answers of their own."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger.calls import RateRefusal
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import buyer_lock, job_lock, ledger_lock
from pipeline.paid.ledger.maintenance import prune_by_hand
from pipeline.paid.ledger.room import place_of_spare
from pipeline.paid.ledger.schema import address_of, at_address
from tests.paid.ledger.buying import (
    ANSWERED,
    FINGERPRINT,
    FREE,
    LOST,
    PRICE,
    RESERVED,
    ROAD_DIGEST,
    Clock,
    buy,
    finish,
    send,
)
from tests.paid.ledger.holding import another

ADDRESSES = ["https://models.example/v1", "http://[::1]:8080/v1", "https://a_b%.example"]
PLAIN = ADDRESSES[0]
SMALL, LARGE = f"{PLAIN}#small-1", f"{PLAIN}#org/large:8b"


def test_the_address_of_an_endpoint_is_what_is_before_the_model() -> None:
    assert [address_of(each) for each in (SMALL, LARGE, PLAIN)] == [PLAIN] * 3
    assert at_address(SMALL) == at_address(PLAIN) == (len(PLAIN) + 1, f"{PLAIN}#")


@pytest.mark.parametrize("address", ADDRESSES)
def test_models_share_what_a_key_used_and_not_what_it_bought(
    path: Path, clock: Clock, address: str
) -> None:
    small, large = f"{address}#small-1", f"{address}#org/large:8b"
    neighbours = (f"{address}0#small-1", address[:-1], address.replace("_", "x") + "/b#small-1")
    with closing(Ledger(path, small, clock)) as ledger:
        journal = Journal(ledger.open_job("tenders"), FINGERPRINT)
        buy(journal)
        buy(journal, LOST)
        finish(journal, send(journal), FREE, RateRefusal(3, 20.0))
    with closing(Ledger(path, large, clock)) as other:
        job = other.open_job("tenders")
        assert (job.responses("cpv", [ROAD_DIGEST]), other.prices()) == ({}, None)
        assert (job.sent("cpv", [ROAD_DIGEST]), job.was_answered()) == (set(), False)
        assert len(other.attempts_since(FINGERPRINT, 0)) == 3
        spent = other.spent_since(FINGERPRINT, 0)
        assert (spent.confirmed, spent.at_risk) == (PRICE, RESERVED)
        assert other.last_refusal(FINGERPRINT) == RateRefusal(3, 20.0, 1_000.0)
    for neighbour in neighbours:
        with closing(Ledger(path, neighbour, clock)) as stranger:
            assert stranger.attempts_since(FINGERPRINT, 0) == []
            assert stranger.spent_since(FINGERPRINT, 0).attempts == 0
            assert stranger.last_refusal(FINGERPRINT) is None
    with closing(Ledger(path, small, clock)) as again:
        assert again.open_job("tenders").responses("cpv", [ROAD_DIGEST])
        assert again.prices() == (PRICE, PRICE)


def test_a_buyer_recovers_what_a_killed_run_with_another_model_left(
    path: Path, clock: Clock
) -> None:
    with closing(Ledger(path, SMALL, clock)) as ledger:
        send(Journal(ledger.open_job("tenders"), FINGERPRINT))
        with closing(Ledger(path, f"{PLAIN}/x#small-1", clock)) as stranger:
            assert stranger.recover(FINGERPRINT) == 0
        with closing(Ledger(path, LARGE, clock)) as other:
            assert other.recover("another key") == 0
            assert other.recover(FINGERPRINT) == 1
        assert ledger.spent_since(FINGERPRINT, 0).at_risk == RESERVED


def test_one_model_is_bought_from_at_a_time_and_jobs_of_both_may_be_open(path: Path) -> None:
    with closing(Ledger(path, SMALL)):
        pass
    with another("key", SMALL, FINGERPRINT):
        for endpoint in (LARGE, PLAIN):
            with pytest.raises(LedgerError), buyer_lock(endpoint, FINGERPRINT, wait=False):
                pass
        with buyer_lock(f"{PLAIN}/x#small-1", FINGERPRINT, wait=False):
            pass
    with (
        another("ledger", path, SMALL),
        pytest.raises(LedgerError, match=rf"for {PLAIN}:"),
        ledger_lock(path, LARGE, wait=False),
    ):
        pass
    with another("job", path, SMALL, "tenders"), job_lock(path, LARGE, "tenders", wait=False):
        pass


def test_models_share_the_file_of_answers_that_a_ledger_cannot_record(path: Path) -> None:
    assert place_of_spare(path, SMALL) == place_of_spare(path, LARGE) == place_of_spare(path, PLAIN)
    assert place_of_spare(path, SMALL) != place_of_spare(path, f"{PLAIN}/x#small-1")


def test_old_answers_of_two_models_are_pruned_under_one_lock(path: Path, clock: Clock) -> None:
    for endpoint in (SMALL, LARGE):
        with closing(Ledger(path, endpoint, clock)) as ledger:
            job = ledger.open_job("tenders")
            buy(Journal(job, FINGERPRINT), ANSWERED)
            job.close()
    prune = partial(prune_by_hand, path, 1_500.0, ["cpv"], wait=False)
    with another("ledger", path, LARGE), pytest.raises(LedgerError, match="Another process"):
        prune()
    prune()
    for endpoint in (SMALL, LARGE):
        with closing(Ledger(path, endpoint, clock)) as ledger:
            assert ledger.open_job("next").responses("cpv", [ROAD_DIGEST]) == {}
            assert ledger.prices() == (Decimal(PRICE), PRICE)
