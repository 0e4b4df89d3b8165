from __future__ import annotations

import pytest

from pipeline.money import ZERO
from pipeline.paid.ledger import job as job_module
from pipeline.paid.ledger.calls import Cost
from pipeline.paid.ledger.job import COUNT_CALLS, CallCount, Job
from pipeline.paid.ledger.journal import Journal
from tests.paid.ledger.buying import (
    ANSWERED,
    FREE,
    LOST,
    PRICE,
    ROAD_DIGEST,
    SILENT,
    buy,
    note,
    send,
)


def test_a_call_whose_price_nobody_knows_has_no_cost_but_keeps_what_is_known(
    job: Job, journal: Journal
) -> None:
    for end, cost in ((FREE, 0), (LOST, None), (SILENT, None), (ANSWERED, PRICE), (LOST, PRICE)):
        buy(journal, end)
        found = job.responses_and_costs("cpv", [ROAD_DIGEST])[1]
        assert found.get(ROAD_DIGEST, Cost(None, ZERO)).usd == cost


def test_a_job_that_sent_something_cannot_be_deleted(job: Job, journal: Journal) -> None:
    note(job, "road")
    send(journal)
    with pytest.raises(ValueError, match="has sent something"):
        job.delete()
    assert job.calls() == {"cpv": CallCount(1, 1)}


def test_what_answers_a_batch_does_not_read_the_whole_ledger(job: Job) -> None:
    for query in (job_module.FOUND.replace(":digests", "?"), COUNT_CALLS):
        values = [0] * query.count("?")
        plan = [step[3] for step in job.database.rows(f"EXPLAIN QUERY PLAN {query}", *values)]
        assert [step for step in plan if "SCAN" in step and "subquery" not in step] == []
        assert any(
            "SEARCH attempts USING INDEX attempts_of_call (digest=?" in step for step in plan
        )


def test_counting_the_calls_does_not_sort_them_in_memory(job: Job) -> None:
    values = [0] * COUNT_CALLS.count("?")
    plan = [step[3] for step in job.database.rows(f"EXPLAIN QUERY PLAN {COUNT_CALLS}", *values)]
    assert [step for step in plan if "TEMP B-TREE" in step] == []
    assert sum("CORRELATED" in step for step in plan) == 2, "each call's kind is found once"


@pytest.mark.parametrize("name", ["FIRST_ROWS", "ERRORS", "UNCONFIRMED"])
def test_what_is_asked_for_a_batch_does_not_read_the_whole_job(job: Job, name: str) -> None:
    query = getattr(job_module, name).replace(":digests", "?")
    values = [*[1] * (query.count("?") - 2), "cpv", b""]
    (step, *_) = job.database.rows(f"EXPLAIN QUERY PLAN {query}", *values)
    assert "digest=?" in step[3]
