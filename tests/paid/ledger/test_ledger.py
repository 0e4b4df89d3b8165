from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pipeline.answers import System
from pipeline.errors import LedgerError
from pipeline.paid.ledger import ledger as ledger_module
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import CallCount, Counting, Ledger, LedgerJob
from pipeline.paid.ledger.locks import job_lock, ledger_lock
from pipeline.paid.ledger.maintenance import prune_by_hand
from pipeline.paid.ledger.mark import LedgerMark, Marked, check_marks, check_there, marks_in
from pipeline.paid.ledger.schema import (
    AttemptEnd,
    Call,
    CallEnded,
    LastingState,
    RateRefusal,
    text_digest,
)
from pipeline.paid.ledger.totals import (
    Spent,
    Tally,
    Wanted,
    attempts,
    open_jobs,
    read_spending,
    total_by,
)
from pipeline.paid.limits import MAX_PRICE
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
    SILENT,
    UNREADABLE,
    Clock,
    buy,
    finish,
    note,
    send,
)


def test_a_plan_sees_what_its_job_sees_and_leaves_nothing(
    path: Path, job: LedgerJob, journal: Journal, clock: Clock
) -> None:
    note(job, "road")
    buy(journal, REFUSED)
    buy(journal, LOST, Call("cpv", "bridge"))
    clock.now += 60
    with closing(Ledger(path, BASE_URL, clock)) as ledger:
        plan = ledger.open_plan("tenders", Counting(max_age=1, retry_failed=True, most_lost=1))
        note(plan, "road", "bridge", "tunnel")
        assert plan.calls() == CallCount(3, 1, 1)
        assert job.calls() == CallCount(1, 0)
    with closing(Ledger(path, BASE_URL, clock)) as ledger:
        stranger = ledger.open_plan("others", Counting(max_age=1))
        note(stranger, "road")
        assert stranger.calls() == CallCount(1, 1)
    assert list(job.ledger.database.rows("SELECT identity FROM jobs")) == [("tenders",)]
    assert list(job.ledger.database.rows("SELECT count(*) FROM first_rows")) == [(1,)]


def test_any_number_of_texts_can_be_asked_for_at_once(job: LedgerJob, journal: Journal) -> None:
    buy(journal)
    texts = [text_digest(str(number)) for number in range(40_000)]
    assert list(job.responses("cpv", [*texts, ROAD_DIGEST])) == [ROAD_DIGEST]
    assert job.responses("cpv", []) == {}


def test_prices_are_compared_as_numbers_and_not_as_text(ledger: Ledger, journal: Journal) -> None:
    assert ledger.prices(MAX_PRICE) is None
    for cost in ("9E-5", "0.00010", "0.00002"):
        buy(journal, CallEnded("answered", 200, b"", Decimal(cost)))
    buy(journal, SILENT)
    assert ledger.prices(MAX_PRICE) == (Decimal("0.00002"), Decimal("0.00010"))
    assert ledger.prices(Decimal("0.00009")) == (Decimal("0.00002"), Decimal("9E-5"))
    assert ledger.prices(Decimal("0.00001")) is None


@pytest.mark.parametrize("free", ["0", "0.0", "0E-7"])
@pytest.mark.parametrize(("key", "state"), [(FINGERPRINT, "refused"), ("demo", "answered")])
def test_a_refusal_or_a_demo_call_that_was_free_says_nothing_of_prices(
    ledger: Ledger, job: LedgerJob, free: str, key: str, state: LastingState
) -> None:
    for price, prices in ((Decimal(free), None), (Decimal("0.0004"), (Decimal("0.0004"),) * 2)):
        buy(Journal(job, key), CallEnded(state, 400, b"", price, "VALIDATION_ERROR"))
        assert ledger.prices(MAX_PRICE) == prices
    buy(Journal(job, FINGERPRINT), CallEnded("answered", 200, b"", Decimal(free)))
    assert ledger.prices(MAX_PRICE) == (Decimal(0), Decimal("0.0004"))


def test_a_job_is_closed_and_deleted_as_a_whole_or_not_at_all(
    ledger: Ledger, job: LedgerJob, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(job, "road")
    send(journal)
    with pytest.raises(LedgerError):
        job.delete()  # it has sent something
    assert job.calls() == CallCount(1, 1)
    with monkeypatch.context() as patch, pytest.raises(LedgerError):
        patch.setattr(ledger_module, "FORGET_ROWS", "NO SQL")
        job.close()
    assert ledger.open_job("tenders").number == job.number


@pytest.mark.parametrize(
    "name", ["RESPONSES", "COUNT_CALLS", "FIRST_ROWS", "ERRORS", "UNCONFIRMED"]
)
def test_what_is_asked_for_a_batch_does_not_read_the_whole_ledger(
    job: LedgerJob, name: str
) -> None:
    query = getattr(ledger_module, name).replace(":digests", "?")
    values = [0] * query.count("?")
    plan = [step[3] for step in job.ledger.database.rows(f"EXPLAIN QUERY PLAN {query}", *values)]
    assert any("digest=?" in step for step in plan)
    assert [step for step in plan if "SCAN" in step and "subquery" not in step] == []
    if name == "COUNT_CALLS":
        assert [step for step in plan if "TEMP B-TREE" in step] == []
        assert sum("CORRELATED" in step for step in plan) == 2, "each call's kind is found once"


def marked(**changes: Any) -> list[Marked]:
    values = {"path": "/ledgers/l.db", "last_attempt": 1, "sent_at": 1_000.0} | changes
    manifest = {"service": BASE_URL, "ledger": values}
    return marks_in([(Path("out.csv"), manifest)], BASE_URL)


def test_the_note_of_a_parked_run_is_for_its_service_alone() -> None:
    mark = LedgerMark("/ledgers/l.db", 1, 1_000.0)
    manifest = mark.while_parked(BASE_URL)
    for base_url, found in ((BASE_URL, [mark]), ("http://other.example", [])):
        marks = marks_in([(Path("out.csv"), manifest)], base_url)
        assert [each for _, each in marks] == found


@pytest.mark.parametrize("number", [2, 0, -1, 2**63, -(2**63) - 1, 10**30])
def test_an_attempt_that_no_ledger_can_have_is_of_another_one(
    ledger: Ledger, journal: Journal, number: int
) -> None:
    buy(journal)
    check_marks(ledger.high_water, marked())
    with pytest.raises(LedgerError, match="another ledger"):
        check_marks(ledger.high_water, marked(last_attempt=number))


def test_the_path_in_a_manifest_does_not_control_the_terminal(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match=r"the ledger /old l\.db\. This") as caught:
        check_marks(ledger.high_water, marked(path="/old\x1b\n\ud800l.db"))
    assert caught.value.message.isprintable()


def test_a_ledger_with_an_impossible_path_is_no_unexpected_error(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    with pytest.raises(LedgerError):
        check_there(path, marked())
        Ledger(path, BASE_URL)


ADDRESSES = ["https://models.example/v1", "http://[::1]:8080/v1", "https://a_b%.example"]
PLAIN = ADDRESSES[0]
SMALL, LARGE = f"{PLAIN}#small-1", f"{PLAIN}#org/large:8b"


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
        assert (job.responses("cpv", [ROAD_DIGEST]), other.prices(MAX_PRICE)) == ({}, None)
        job.note_rows([("cpv", ROAD_DIGEST, 0)])
        assert job.to_buy("cpv", [ROAD_DIGEST]) == {(ROAD_DIGEST, 0): (2, False)}
        assert not job.was_answered()
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
        assert again.prices(MAX_PRICE) == (PRICE, PRICE)


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


def test_jobs_of_two_models_may_be_open(path: Path) -> None:
    with closing(Ledger(path, SMALL)):
        pass
    with job_lock(path, SMALL, "tenders", wait=False), job_lock(path, LARGE, "tenders", wait=False):
        pass


def test_models_share_the_file_of_answers_that_a_ledger_cannot_record(path: Path) -> None:
    endpoints = (SMALL, LARGE, PLAIN, f"{PLAIN}/x#small-1")
    spares = []
    for endpoint in endpoints:
        with closing(Ledger(path, endpoint)) as ledger:
            spares.append(ledger.spare)
    assert spares[0] == spares[1] == spares[2] != spares[3]


def test_old_answers_of_two_models_are_pruned_under_one_lock(path: Path, clock: Clock) -> None:
    for endpoint in (SMALL, LARGE):
        with closing(Ledger(path, endpoint, clock)) as ledger:
            job = ledger.open_job("tenders")
            buy(Journal(job, FINGERPRINT), ANSWERED)
            job.close()
    prune = partial(prune_by_hand, path, 1_500.0, ["cpv"], wait=False)
    with (
        ledger_lock(path, PLAIN, wait=False),
        pytest.raises(LedgerError, match="Another process"),
    ):
        prune()
    prune()
    for endpoint in (SMALL, LARGE):
        with closing(Ledger(path, endpoint, clock)) as ledger:
            assert ledger.open_job("next").responses("cpv", [ROAD_DIGEST]) == {}
            assert ledger.prices(MAX_PRICE) == (Decimal(PRICE), PRICE)


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
    path: Path, ledger: Ledger, job: LedgerJob, journal: Journal, clock: Clock
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
