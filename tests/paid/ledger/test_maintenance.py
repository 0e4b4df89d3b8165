"""Changes by hand and the runs that are in their way."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.answers import SYSTEMS
from pipeline.errors import LedgerError, SettingsError
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.maintenance import Old, prune_by_hand, settle_by_hand
from tests.paid.ledger.buying import BASE_URL, LOST, RESERVED, buy, send
from tests.paid.ledger.holding import another

BILLED = Decimal("0.0001")
OLD = Old(2_000.0, SYSTEMS)


def settle(path: Path, *attempts: int) -> None:
    settle_by_hand(path, dict.fromkeys(attempts, BILLED), now=3_000.0, wait=False)


def test_several_attempts_are_settled(path: Path, job: Job, journal: Journal) -> None:
    settle(path, buy(journal, LOST), buy(journal, LOST))
    assert (job.money().confirmed, job.money().at_risk) == (2 * BILLED, Decimal(0))


def test_an_attempt_that_a_killed_run_left_as_sent_is_settled(
    path: Path, job: Job, journal: Journal
) -> None:
    killed, other = send(journal), send(journal)
    settle(path, killed)
    money = job.money()
    assert (money.confirmed, money.unconfirmed, money.at_risk) == (BILLED, 1, RESERVED)
    settle(path, other)
    assert job.money().confirmed == 2 * BILLED


def test_an_attempt_that_is_under_way_is_not_settled(
    path: Path, job: Job, journal: Journal
) -> None:
    attempt = send(journal)
    for lock in (("ledger", path, BASE_URL), ("job", path, BASE_URL, "tenders")):
        with another(*lock), pytest.raises(LedgerError, match=r"Another (run|process)") as caught:
            settle(path, attempt)
        assert "--wait" in caught.value.hint
    assert job.money().confirmed == 0


def test_what_another_job_buys_does_not_matter_to_a_lost_answer(
    path: Path, ledger: Ledger, job: Job, journal: Journal
) -> None:
    ledger.open_job("others")
    attempt = buy(journal, LOST)
    with another("job", path, BASE_URL, "others"), another("ledger", path, BASE_URL):
        settle(path, attempt)
    assert job.money().confirmed == BILLED


def test_the_money_of_a_job_does_not_change_under_its_run(
    path: Path, job: Job, journal: Journal
) -> None:
    attempt = buy(journal, LOST)
    with (
        another("job", path, BASE_URL, "tenders"),
        pytest.raises(LedgerError, match="works on this job"),
    ):
        settle(path, attempt)
    job.close()
    with another("job", path, BASE_URL, "tenders"):  # its successor
        settle(path, attempt)


def test_an_attempt_that_is_not_there_is_named(path: Path, journal: Journal) -> None:
    buy(journal, LOST)
    with pytest.raises(SettingsError, match="no attempt 7"):
        settle(path, 1, 7)


@pytest.mark.parametrize("kind", ["job", "ledger"])
def test_nothing_is_pruned_under_a_run(
    path: Path, ledger: Ledger, job: Job, journal: Journal, kind: str
) -> None:
    buy(journal)
    job.close()
    ledger.open_job("others")
    names = [BASE_URL, "others"] if kind == "job" else [BASE_URL]
    with (
        another(kind, path, *names),
        pytest.raises(LedgerError, match=r"Another (run|process)") as caught,
    ):
        prune_by_hand(path, OLD, now=3_000.0, wait=False)
    assert "--wait" in caught.value.hint

    assert prune_by_hand(path, OLD, now=3_000.0, wait=False).answers == 1


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with pytest.raises(LedgerError, match="There is no ledger"):
        settle(path, 1)
    with pytest.raises(LedgerError, match="There is no ledger"):
        prune_by_hand(path, OLD, now=3_000.0, wait=False)
    assert list(tmp_path.iterdir()) == []
