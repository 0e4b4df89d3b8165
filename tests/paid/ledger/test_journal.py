from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import tracemalloc
from contextlib import closing
from decimal import Decimal
from io import FileIO
from pathlib import Path

import msgspec
import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger, LedgerJob
from pipeline.paid.ledger.room import SPARE_PER_WORKER, spare_file, take_in
from pipeline.paid.ledger.schema import Call, CallEnded, CallOpen
from tests.paid.ledger.buying import (
    ANSWERED,
    BASE_URL,
    FINGERPRINT,
    PRICE,
    RESERVED,
    ROAD,
    ROAD_DIGEST,
    buy,
    finish,
    send,
)

pytestmark = pytest.mark.anyio


def calls(count: int) -> list[Call]:
    return [Call("cpv", f"text {number}") for number in range(count)]


async def test_answers_are_kept_although_the_main_thread_has_ended(
    job: LedgerJob, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that buys then goes on, but Python's executors take no more work."""

    async def refused(*_: object) -> None:
        pass

    attempt = await journal.record_attempt(ROAD, RESERVED)
    monkeypatch.setattr("concurrent.futures.thread._shutdown", True)
    monkeypatch.setattr(Journal, "_keep", refused)
    await journal.record_end(attempt, ANSWERED)
    assert await journal.record_attempt(Call("psc", "road"), RESERVED) == 2
    assert job.answered("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST}


def test_a_failure_reaches_every_waiter_and_the_next_write_works(
    ledger: Ledger, job: LedgerJob, journal: Journal
) -> None:
    async def main() -> list[int | BaseException]:
        sending = (journal.record_attempt(call, RESERVED) for call in calls(5))
        return await asyncio.gather(*sending, return_exceptions=True)

    with job.ledger.database.transaction() as connection:
        pass
    connection.execute("PRAGMA query_only = ON")
    failures = asyncio.run(main())
    assert [type(failure) for failure in failures] == [LedgerError] * 5
    connection.execute("PRAGMA query_only = OFF")
    assert ledger.attempts_since(FINGERPRINT, 0) == []
    assert send(journal) == 1


async def test_a_cancelled_waiter_does_not_disturb_the_others(
    ledger: Ledger, journal: Journal
) -> None:
    tasks = [asyncio.create_task(journal.record_attempt(call, RESERVED)) for call in calls(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    first, second, third = await asyncio.gather(*tasks, return_exceptions=True)
    assert (first, third) == (1, 3)
    assert isinstance(second, asyncio.CancelledError)
    assert len(ledger.attempts_since(FINGERPRINT, 0)) == 3


async def test_what_comes_while_a_group_is_written_goes_with_the_next(
    job: LedgerJob, journal: Journal
) -> None:
    statements: list[str] = []
    with job.ledger.database.transaction() as connection:
        connection.set_trace_callback(statements.append)
        first = asyncio.create_task(journal.record_attempt(ROAD, RESERVED))
        await asyncio.sleep(0.01)  # it is on its way, and cannot be written yet
        rest = [asyncio.create_task(journal.record_attempt(call, RESERVED)) for call in calls(5)]
        await asyncio.sleep(0.01)
    assert sorted(await asyncio.gather(first, *rest)) == [1, 2, 3, 4, 5, 6]
    connection.set_trace_callback(None)
    assert statements.count("COMMIT") == 1 + 2  # the test's own and theirs


def test_an_attempt_ends_once(job: LedgerJob, journal: Journal) -> None:
    attempt = buy(journal)
    with pytest.raises(ValueError, match="not under way"):
        finish(journal, attempt, CallOpen("unconfirmed", "TIMEOUT"))
    assert list(job.responses("cpv", [ROAD_DIGEST])) == [ROAD_DIGEST]


def test_an_answer_is_kept_although_another_run_took_this_one_for_killed(
    ledger: Ledger, job: LedgerJob, journal: Journal
) -> None:
    """Somebody deleted the files of the locks, so that two runs buy at once."""
    attempt = send(journal)
    assert ledger.recover(FINGERPRINT) == 1
    finish(journal, attempt, ANSWERED)
    assert list(job.responses("cpv", [ROAD_DIGEST])) == [ROAD_DIGEST]
    assert (job.money().confirmed, job.money().unconfirmed) == (PRICE, 0)


def test_a_text_that_is_not_unicode_is_kept_as_it_can_be(job: LedgerJob, journal: Journal) -> None:
    """As an error of the service, or the name of a file, may be."""
    buy(journal, CallOpen("free", "ODD\ud800"))
    assert job.errors("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: "ODD\\ud800"}
    job.describe("in\udcff.csv", "out\udcff.csv", 1)
    job.note_stop("in\udcff.csv")
    notes = job.ledger.database.rows("SELECT input, output, stopped FROM job_notes")
    assert [*notes] == [("in\\udcff.csv", "out\\udcff.csv", "in\\udcff.csv")]


async def test_the_end_of_an_attempt_that_is_gone_is_an_error_and_not_awaited_for_ever(
    ledger: Ledger, job: LedgerJob
) -> None:
    with spare_file(ledger.database.path, ledger.spare, workers=1) as spare:
        journal = Journal(job, FINGERPRINT, spare)
        attempt = await journal.record_attempt(ROAD, RESERVED)
        with job.ledger.database.transaction() as connection:
            connection.execute("DELETE FROM attempts")
        async with asyncio.timeout(5):
            with pytest.raises(ValueError, match="not under way"):
                await journal.record_end(attempt, ANSWERED)


def fill_up(job: LedgerJob) -> None:
    with job.ledger.database.transaction() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 3}")


def answer(cost: Decimal | None = PRICE) -> CallEnded:
    """Return an answer that is too large for a disk that is nearly full."""
    return CallEnded("answered", 200, random.Random(1).randbytes(100_000), cost)


def fail_to_write(job: LedgerJob, spare: FileIO | None) -> LedgerError:
    """Let three answers fail, and an attempt that is not sent yet; return the error."""
    answers = [answer(), answer(None), msgspec.structs.replace(answer(), error="TWO WORDS")]

    async def main() -> None:
        async with Journal(job, FINGERPRINT, spare) as journal:
            attempts = [await journal.record_attempt(ROAD, RESERVED) for _ in answers]
            fill_up(job)
            ended = map(journal.record_end, attempts, answers)
            ends = [asyncio.create_task(end) for end in ended]
            with pytest.raises(LedgerError, match="full"):
                await journal.record_attempt(ROAD, RESERVED)
            await asyncio.gather(*ends)

    with pytest.raises(LedgerError) as caught:
        asyncio.run(main())
    return caught.value


def test_answers_are_kept_beside_the_ledger_which_takes_them_in(
    ledger: Ledger, job: LedgerJob
) -> None:
    with spare_file(ledger.database.path, ledger.spare, workers=1) as spare:
        error = fail_to_write(job, spare)
    place = Path(str(spare.name))
    assert f" Kept in {place}: 3 answers." in error.message
    assert "The next run takes over what is kept there." in error.hint
    lines = filter(None, place.read_text().splitlines())
    assert [json.loads(line)["attempt"] for line in lines] == [1, 2, 3]
    with closing(Ledger(job.ledger.database.path, BASE_URL)) as opened:
        assert opened.recover(FINGERPRINT) == 0
    money = job.money()
    assert (money.confirmed, money.unconfirmed, money.unknown) == (2 * PRICE, 0, 1)
    with spare_file(ledger.database.path, ledger.spare, workers=1):
        pass
    assert not place.exists()
    assert job.responses("cpv", [ROAD.digest])[ROAD.digest].body == answer().body


def test_a_line_that_is_torn_or_of_another_ledger_is_passed_over(
    ledger: Ledger, job: LedgerJob
) -> None:
    with spare_file(ledger.database.path, ledger.spare, workers=1) as spare:
        fail_to_write(job, spare)
    place = Path(str(spare.name))
    first, second, third = filter(None, place.read_bytes().split(b"\n"))
    other = json.loads(second) | {"sent_at": 1.0}
    place.write_bytes(b"\n".join([first, json.dumps(other).encode(), third[:-9]]))
    with closing(Ledger(job.ledger.database.path, BASE_URL)) as opened:
        assert opened.recover(FINGERPRINT) == 2
    assert (job.money().confirmed, job.money().unconfirmed) == (PRICE, 2)


def test_what_can_be_written_nowhere_is_named(job: LedgerJob) -> None:
    error = fail_to_write(job, spare=None)
    assert " Lost: 3 answers." in error.message
    assert "--on-unconfirmed hold" in error.hint


def test_a_worker_that_is_cancelled_meanwhile_does_not_hide_what_is_lost(job: LedgerJob) -> None:
    async def main() -> None:
        async with Journal(job, FINGERPRINT) as journal:
            attempt = await journal.record_attempt(ROAD, RESERVED)
            fill_up(job)
            end = asyncio.create_task(journal.record_end(attempt, answer()))
            await asyncio.sleep(0)
            end.cancel()
            await end

    with pytest.raises(LedgerError, match=r"Lost: 1 answer\."):
        asyncio.run(main())


def test_a_spare_file_that_cannot_be_deleted_stops_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's killed run may have left it in a folder where only he may delete it."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "unlink", denied)
    for _ in range(2):
        assert ledger.recover(FINGERPRINT) == 0
        with spare_file(ledger.database.path, ledger.spare, workers=1):
            pass
    assert ledger.spare.exists()


def test_the_empty_lines_of_a_spare_file_take_no_more_memory_than_they_are(ledger: Ledger) -> None:
    size = 16 * SPARE_PER_WORKER
    ledger.spare.write_bytes(b"\n" * size)
    tracemalloc.start()
    try:
        take_in(ledger.database, ledger.spare)
        assert tracemalloc.get_traced_memory()[1] < 2 * size
    finally:
        tracemalloc.stop()


def test_nothing_is_left_of_a_spare_file_without_answers(path: Path, ledger: Ledger) -> None:
    """While it is there, whoever may write the ledger may use it, and nobody else."""
    path.chmod(0o660)
    before = {*path.parent.iterdir()}
    with spare_file(ledger.database.path, ledger.spare, workers=1) as spare:
        assert {*path.parent.iterdir()} - before == {Path(str(spare.name))}
        assert ledger.spare.stat().st_mode & 0o777 == 0o660
        assert os.fstat(spare.fileno()).st_blocks * 512 >= SPARE_PER_WORKER
    assert {*path.parent.iterdir()} == before
