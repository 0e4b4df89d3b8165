"""A disk that fills up: it is looked at before money is spent, and answers wait for room."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
from collections import Counter, namedtuple
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.money import plain
from pipeline.paid.ledger import CallEnded, Job, Journal, Ledger, Reserve, reserved
from pipeline.paid.ledger import journal as journal_module
from tests.paid.ledger.buying import BASE_URL, FINGERPRINT, PRICE, RESERVED, ROAD
from tests.paid.meanwhile import Meanwhile
from tests.paid.serving import Service, buyer, serving

TEXTS = [f"text number {number:02}" for number in range(30)]
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of a few megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems can be mounted by root alone")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 512):
                pass
        except OSError:
            return


def test_a_disk_that_fills_up_parks_the_run_with_every_answer_written(
    tmp_path: Path, small_disk: Path, service: Service
) -> None:
    ledger = small_disk / "ledger.db"
    with serving(Meanwhile(service.app(), 20, lambda: fill(small_disk))) as address:
        user = buyer(tmp_path, address, service.account.key, ledger=ledger)
        user.write(TEXTS)
        with pytest.raises(LedgerError) as caught:
            user.run()
        assert "Free some space on the disk" in caught.value.hint
        bought = len(service.asked)
        assert 20 <= bought < 2 * len(TEXTS)
        with pytest.raises(LedgerError) as refused:
            user.run()
        assert "Nothing was sent" in refused.value.message
        assert len(service.asked) == bought
        (small_disk / "filler").unlink()
        summary = user.run()
    assert summary.parked is None
    assert summary.paid is not None
    assert summary.paid.unconfirmed == 0
    assert summary.cost_usd == service.charged
    assert set(Counter(service.asked).values()) == {1}


def test_a_run_that_the_disk_has_no_room_for_sends_nothing(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(service.app()) as address:
        user = buyer(tmp_path, address, service.account.key)
        user.write(TEXTS)
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 1_400_000))
            with pytest.raises(LedgerError) as caught:
                user.run()
        assert "has 1.4 MB free, but the 60 calls to buy need about 1.6 MB" in str(caught.value)
        assert service.asked == []
        assert user.run().parked is None


class Disk:
    """Lets a ledger grow, or not."""

    def __init__(self, job: Job) -> None:
        with job.database.transaction() as self._connection:
            (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
            self._connection.execute(f"PRAGMA max_page_count = {pages + 3}")

    def free(self) -> None:
        self._connection.execute("PRAGMA max_page_count = 1000000")


def answer(cost: Decimal | None = PRICE) -> CallEnded:
    """Return an answer that is too large for a disk that is nearly full."""
    return CallEnded("answered", 200, random.Random(1).randbytes(100_000), cost)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    ledger = Ledger(tmp_path / "ledger.db", BASE_URL)
    yield ledger.open_job("tenders")
    ledger.close()


def test_answers_wait_in_memory_until_there_is_room(
    job: Job, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "FIRST_PAUSE_S", 0.0)

    async def main() -> None:
        async with Journal(job, FINGERPRINT) as journal:
            attempts = [await journal.sent(ROAD, RESERVED) for _ in range(3)]
            disk = Disk(job)
            ends = [journal.ended(each, answer()) for each in attempts]
            while "kept in memory" not in caplog.text and not ends[0].done():
                await asyncio.sleep(0)
            with pytest.raises(LedgerError, match="full"):
                await journal.sent(ROAD, RESERVED)
            disk.free()
            await asyncio.gather(*ends)
            await journal.sent(ROAD, RESERVED)

    asyncio.run(main())
    assert "full" in caplog.text
    assert "3 answers are kept in memory, and nothing new is sent" in caplog.text
    assert "Free some space on the disk" in caplog.text
    assert "interrupt (Ctrl-C)" in caplog.text
    assert "can be written again: no answer was lost" in caplog.text
    assert job.money().confirmed == 3 * PRICE


def test_an_interrupt_ends_the_wait_and_says_what_is_lost(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with Journal(job, FINGERPRINT) as journal:
            attempts = [await journal.sent(ROAD, RESERVED) for _ in range(3)]
            Disk(job)
            costs = (PRICE, None, PRICE)
            ends = [
                journal.ended(each, answer(cost))
                for each, cost in zip(attempts, costs, strict=True)
            ]
            while "kept in memory" not in caplog.text:
                await asyncio.sleep(0)
            journal.give_up()
            await asyncio.gather(*ends)

    with pytest.raises(LedgerError) as caught:
        asyncio.run(main())
    said = f"3 answers could not be written: {plain(2 * PRICE)} USD paid, 1 of them at an "
    assert said in caught.value.message
    assert "--on-unconfirmed hold" in caught.value.hint


def test_a_worker_that_is_cancelled_meanwhile_does_not_hide_what_is_lost(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with Journal(job, FINGERPRINT) as journal:
            attempt = await journal.sent(ROAD, RESERVED)
            Disk(job)
            end = journal.ended(attempt, answer())
            while "kept in memory" not in caplog.text:
                await asyncio.sleep(0)
            end.cancel()
            await end

    with pytest.raises(LedgerError, match="1 answer could not be written"):
        asyncio.run(main())


def test_the_wait_ends_after_a_time_by_itself(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(journal_module, "PATIENCE_S", 0.0)

    async def main() -> None:
        async with Journal(job, FINGERPRINT) as journal:
            attempt = await journal.sent(ROAD, RESERVED)
            Disk(job)
            await journal.ended(attempt, answer())

    with pytest.raises(LedgerError, match="1 answer could not be written"):
        asyncio.run(main())


def test_the_reserve_is_given_up_before_anybody_waits(
    job: Job,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(journal_module, "PATIENCE_S", 0.0)
    release = Reserve.release

    async def main(reserve: Reserve) -> None:
        async with Journal(job, FINGERPRINT, reserve) as journal:
            attempt = await journal.sent(ROAD, RESERVED)
            disk = Disk(job)

            def given_up(reserve: Reserve) -> bool:
                disk.free()
                return release(reserve)

            with monkeypatch.context() as patch:
                patch.setattr(Reserve, "release", given_up)
                await journal.ended(attempt, answer())
            with pytest.raises(LedgerError, match="full"):
                await journal.sent(ROAD, RESERVED)

    with reserved(tmp_path / "ledger.db", 1) as reserve:
        asyncio.run(main(reserve))
        assert not reserve.release()
    assert "kept in memory" not in caplog.text
    assert job.money().confirmed == PRICE


def test_nothing_is_left_of_a_reserve(tmp_path: Path) -> None:
    with reserved(tmp_path / "ledger.db", 1):
        assert list(tmp_path.iterdir()) == []
