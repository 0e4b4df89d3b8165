from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.money import ZERO
from pipeline.paid.ledger import job as job_module
from pipeline.paid.ledger.calls import Call, CallOpen, Cost, text_digest
from pipeline.paid.ledger.job import OPEN_CALLS, CallCount, Counting, Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
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
    SILENT,
    Clock,
    buy,
    note,
    send,
)

BRIDGE = Call("cpv", "bridge")
NOTHING = Tally()


def test_a_call_is_carried_by_its_first_row(job: Job) -> None:
    assert note(job, "road", "bridge", "road") == 2
    assert job.note_rows([("cpv", ROAD_DIGEST, 7), ("psc", ROAD_DIGEST, 8)]) == 1
    assert job.first_rows("cpv", [ROAD_DIGEST, b"?"]) == {ROAD_DIGEST: 0}
    assert job.first_rows("psc", [ROAD_DIGEST]) == {ROAD_DIGEST: 8}


def test_jobs_have_rows_of_their_own(ledger: Ledger, job: Job) -> None:
    other = ledger.open_job("others")
    note(job, "road")
    note(other, "bridge", "road")
    job.forget_rows()
    assert job.first_rows("cpv", [ROAD_DIGEST]) == {}
    assert other.first_rows("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: 1}


def test_many_rows_are_forgotten_a_part_at_a_time(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_module, "ROWS_AT_ONCE", 3)
    note(job, *"abcdefg")
    job.forget_rows()
    assert job.calls() == {}


def test_calls_are_counted_apart_from_those_still_to_buy(
    ledger: Ledger, job: Job, journal: Journal
) -> None:
    note(job, "road", "bridge", "tunnel", "harbour")
    job.note_rows([("psc", ROAD_DIGEST, 0)])
    buy(journal, ANSWERED)
    buy(journal, REFUSED, BRIDGE)
    buy(journal, FREE, Call("cpv", "tunnel"))
    assert job.calls() == {"cpv": CallCount(4, 2), "psc": CallCount(1, 1)}
    elsewhere = replace(job, base_url="http://localhost:8000")
    assert elsewhere.calls()["cpv"] == CallCount(4, 4)


@pytest.mark.parametrize(
    ("most_lost", "counted"), [(1, CallCount(3, 0, 3)), (2, CallCount(3, 1, 2))]
)
def test_calls_whose_answers_were_lost_too_often_are_held(
    ledger: Ledger, job: Job, journal: Journal, most_lost: int, counted: CallCount
) -> None:
    note(job, "road", "bridge", "tunnel")
    buy(journal, LOST)
    buy(journal, LOST, BRIDGE)
    send(journal, BRIDGE)
    elsewhere = Journal(ledger.open_job("others"), FINGERPRINT)
    for _ in range(2):
        buy(elsewhere, LOST, Call("cpv", "tunnel"))
    strict = replace(job, counting=Counting(most_lost=most_lost))
    assert strict.calls() == {"cpv": counted}
    buy(Journal(job, FINGERPRINT), ANSWERED, BRIDGE)
    assert job.calls() == {"cpv": CallCount(3, 1, 1)}


def test_losses_of_an_earlier_job_are_forgiven_when_failures_are_retried(
    ledger: Ledger, job: Job, journal: Journal, clock: Clock
) -> None:
    for _ in range(2):
        buy(journal, LOST)
    clock.now += 1
    later = ledger.open_job("others")
    note(later, "road")
    assert later.calls() == {"cpv": CallCount(1, 0, 1)}
    again = replace(later, counting=Counting(retry_failed=True))
    assert again.calls() == {"cpv": CallCount(1, 1)}
    assert again.unconfirmed("cpv", [ROAD_DIGEST]) == {}
    buy(Journal(later, FINGERPRINT), LOST)
    assert again.unconfirmed("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: 1}


def test_a_call_whose_price_nobody_knows_has_no_cost_but_keeps_what_is_known(
    job: Job, journal: Journal
) -> None:
    for end, cost in ((FREE, 0), (LOST, None), (SILENT, None), (ANSWERED, PRICE), (LOST, PRICE)):
        buy(journal, end)
        found = job.responses_and_costs("cpv", [ROAD_DIGEST])[1]
        assert found.get(ROAD_DIGEST, Cost(None, ZERO)).usd == cost


def test_a_call_costs_what_all_its_attempts_in_this_job_cost(
    ledger: Ledger, job: Job, journal: Journal
) -> None:
    for end in (LOST, REFUSED, ANSWERED, ANSWERED):
        buy(journal, end)
    buy(Journal(ledger.open_job("others"), FINGERPRINT))
    assert job.responses_and_costs("cpv", [ROAD_DIGEST])[1] == {ROAD_DIGEST: Cost(None, PRICE * 2)}
    assert job.responses_and_costs("psc", [ROAD_DIGEST])[1] == {}


def test_costs_without_a_row_are_unattributed(job: Job, journal: Journal) -> None:
    note(job, "road")
    buy(journal)
    buy(journal, call=BRIDGE)
    buy(journal, call=Call("psc", "road"))
    assert job.unattributed() == PRICE * 2


def test_money_keeps_the_certain_and_the_uncertain_apart(
    ledger: Ledger, job: Job, journal: Journal
) -> None:
    assert job.money() == NOTHING
    for end in (ANSWERED, ANSWERED, FREE, LOST, SILENT, REFUSED):
        buy(journal, end)
    send(journal)
    assert job.money() == Tally(
        attempts=7, confirmed=PRICE * 2, unconfirmed=2, unknown=2, at_risk=RESERVED * 4
    )
    assert ledger.open_job("others").money() == NOTHING


def test_the_last_error_says_why_a_call_has_no_answer(job: Job, journal: Journal) -> None:
    buy(journal, LOST)
    buy(journal, FREE)
    assert job.errors("cpv", [ROAD_DIGEST, b"?"]) == {ROAD_DIGEST: "INTERNAL_ERROR"}
    send(journal)
    assert job.errors("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: "INTERRUPTED"}
    buy(journal, REFUSED)
    assert job.errors("cpv", [ROAD_DIGEST]) == {}


def test_errors_of_other_jobs_do_not_count(ledger: Ledger, job: Job, journal: Journal) -> None:
    buy(journal, LOST)
    other = ledger.open_job("others")
    assert other.errors("cpv", [ROAD_DIGEST]) == {}


def test_lost_answers_are_counted_for_each_call_whatever_the_job(
    ledger: Ledger, job: Job, journal: Journal
) -> None:
    buy(journal, LOST)
    buy(journal, CallOpen("unconfirmed", "CONNECTION_ERROR"))
    buy(journal, FREE)
    buy(journal, ANSWERED, BRIDGE)
    digests = [ROAD_DIGEST, text_digest("bridge")]
    assert job.unconfirmed("cpv", digests) == {ROAD_DIGEST: 2}
    assert ledger.open_job("others").unconfirmed("cpv", digests) == {ROAD_DIGEST: 2}


def test_a_closed_job_keeps_its_attempts_and_drops_its_rows(job: Job, journal: Journal) -> None:
    note(job, "road")
    buy(journal)
    job.close()
    assert job.money().confirmed == PRICE
    assert job.calls() == {}


def test_a_job_that_sent_nothing_can_be_deleted(ledger: Ledger, job: Job) -> None:
    note(job, "road")
    job.delete()
    assert list(job.database.rows("SELECT * FROM first_rows")) == []
    assert list(job.database.rows("SELECT * FROM jobs")) == []


def test_a_job_that_sent_something_cannot_be_deleted(job: Job, journal: Journal) -> None:
    note(job, "road")
    send(journal)
    with pytest.raises(ValueError, match="has sent something"):
        job.delete()
    assert job.calls() == {"cpv": CallCount(1, 1)}


def test_what_answers_a_batch_does_not_read_the_whole_ledger(job: Job) -> None:
    for query in (job_module.FOUND.replace(":digests", "?"), OPEN_CALLS):
        values = [0] * query.count("?")
        plan = [step[3] for step in job.database.rows(f"EXPLAIN QUERY PLAN {query}", *values)]
        assert [step for step in plan if "SCAN" in step and "subquery" not in step] == []
        assert any(
            "SEARCH attempts USING INDEX attempts_of_call (digest=?" in step for step in plan
        )


def test_counting_the_calls_does_not_sort_them_in_memory(job: Job) -> None:
    values = [0] * OPEN_CALLS.count("?")
    plan = [step[3] for step in job.database.rows(f"EXPLAIN QUERY PLAN {OPEN_CALLS}", *values)]
    assert [step for step in plan if "TEMP B-TREE" in step] == []
    assert sum("CORRELATED" in step for step in plan) == 2, "each call's kind is found once"


@pytest.mark.parametrize("name", ["FIRST_ROWS", "ERRORS", "UNCONFIRMED"])
def test_what_is_asked_for_a_batch_does_not_read_the_whole_job(job: Job, name: str) -> None:
    query = getattr(job_module, name).replace(":digests", "?")
    values = [*[1] * (query.count("?") - 2), "cpv", b""]
    (step, *_) = job.database.rows(f"EXPLAIN QUERY PLAN {query}", *values)
    assert "digest=?" in step[3]
