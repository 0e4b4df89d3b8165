"""The limit is that of a key, whichever ledgers have its attempts and whatever the clock said."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pipeline.files.directories import machine_folder
from pipeline.paid import resume as resuming
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.ledger import CallOpen, Journal, KeyUsage, Ledger, RateRefusal, key_usage
from pipeline.paid.resume import EarlierRuns, shared_usage
from pipeline.paid.service import PaidService
from pipeline.rate import Rate
from tests.paid.ledger.buying import (
    ANSWERED,
    BASE_URL,
    FINGERPRINT,
    FREE,
    LOST,
    Clock,
    buy,
    finish,
    send,
)
from tests.paid.serving import Service, buyer, serving

RATE = Rate(10, 60.0)
SERVICE = PaidService(BASE_URL, "key", "ledger.db", rate=str(RATE))
NOW = 1_800_000_000.0
DAY = 86_400.0
UNSENT = CallOpen("free", "CONNECTION_ERROR")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody has used the key yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    clock.now = NOW
    monkeypatch.setattr(resuming, "time", SimpleNamespace(time=clock))
    monkeypatch.setattr(key_usage, "boot_clock", lambda: ("", 0.0))
    return clock


@pytest.fixture
def usage() -> Iterator[KeyUsage]:
    with closing(shared_usage(SERVICE)) as opened:
        yield opened


def bought(path: Path, clock: Clock, usage: KeyUsage | None) -> Ledger:
    """Return a ledger with an answer, a loss, one that was never sent and one under way."""
    ledger = Ledger(path, BASE_URL, clock)
    journal = Journal(ledger.open_job("tenders"), FINGERPRINT, None, usage)
    for end in (ANSWERED, LOST, UNSENT):
        buy(journal, end)
    send(journal)
    return ledger


def waits(ledger: Ledger, usage: KeyUsage) -> tuple[list[float], float]:
    """Return after how long each slot comes free for the next run, and its pause."""

    async def main() -> tuple[list[float], float]:
        throttle: Throttle = EarlierRuns(ledger, usage, SERVICE).throttle()
        clock = asyncio.get_running_loop().time()
        return sorted(until - clock for until in throttle._busy_until), throttle.pause_left

    return asyncio.run(main())


HELD = [RATE.answered_until(0), RATE.lost_until(0), RATE.lost_until(0)]


def test_another_ledger_knows_what_the_first_one_used(
    tmp_path: Path, clock: Clock, usage: KeyUsage
) -> None:
    bought(tmp_path / "first.db", clock, usage).close()
    (tmp_path / "first.db").unlink()
    with closing(Ledger(tmp_path / "second.db", BASE_URL, clock)) as second:
        assert waits(second, usage)[0] == pytest.approx(HELD, abs=0.1)
        clock.now += 30
        found = waits(second, usage)[0]
    assert found == pytest.approx([wait - 30 for wait in HELD], abs=0.1)


def test_what_is_in_both_is_counted_once(tmp_path: Path, clock: Clock, usage: KeyUsage) -> None:
    with closing(bought(tmp_path / "first.db", clock, usage)) as first:
        for _ in range(2):
            assert waits(first, usage)[0] == pytest.approx(HELD, abs=0.1)


def test_the_ledger_alone_is_enough(tmp_path: Path, clock: Clock, usage: KeyUsage) -> None:
    with closing(bought(tmp_path / "first.db", clock, None)) as first:
        assert waits(first, usage)[0] == pytest.approx(HELD, abs=0.1)


def test_another_ledger_knows_what_a_refusal_taught(
    tmp_path: Path, clock: Clock, usage: KeyUsage
) -> None:
    with closing(Ledger(tmp_path / "first.db", BASE_URL, clock)) as first:
        journal = Journal(first.open_job("tenders"), FINGERPRINT, None, usage)
        finish(journal, send(journal), FREE, RateRefusal(7, 3_600.0))
    with closing(Ledger(tmp_path / "second.db", BASE_URL, clock)) as second:
        assert waits(second, usage)[1] == pytest.approx(3_600, abs=1)


def test_a_clock_that_ran_a_day_ahead_costs_one_window_once_and_is_reported(
    tmp_path: Path, clock: Clock, usage: KeyUsage, caplog: pytest.LogCaptureFixture
) -> None:
    clock.now += DAY
    with closing(Ledger(tmp_path / "first.db", BASE_URL, clock)) as first:
        journal = Journal(first.open_job("tenders"), FINGERPRINT, None, usage)
        buy(journal)
        finish(journal, send(journal), FREE, RateRefusal(7, 90.0))
        clock.now -= DAY
        held, pause = waits(first, usage)
        assert held == pytest.approx([RATE.hold] * 2, abs=0.1)
        assert pause == pytest.approx(90, abs=0.1)
        assert "ended up to 24 h in the future: the clock was wrong" in caplog.text
        caplog.clear()
        clock.now += RATE.hold + 90
        assert all(wait <= 0 for wait in waits(first, usage)[0])
        assert waits(first, usage)[1] == 0
        assert "in the future" not in caplog.text


HOUR = 3_600.0


def refused(path: Path, clock: Clock, usage: KeyUsage) -> Ledger:
    """Return a ledger whose service asked for a pause of two hours."""
    ledger = Ledger(path, BASE_URL, clock)
    journal = Journal(ledger.open_job("tenders"), FINGERPRINT, None, usage)
    finish(journal, send(journal), FREE, RateRefusal(7, 2 * HOUR))
    return ledger


@pytest.mark.parametrize("wrong_by", [-9999 * DAY, -DAY, -HOUR, DAY])
def test_a_run_with_a_wrong_clock_forgets_no_pause(
    tmp_path: Path, clock: Clock, usage: KeyUsage, wrong_by: float
) -> None:
    with closing(refused(tmp_path / "ledger.db", clock, usage)) as ledger:
        clock.now += 600 + wrong_by
        for _ in range(2):
            waits(ledger, usage)
        clock.now += 600 - wrong_by
        assert waits(ledger, usage)[1] == pytest.approx(2 * HOUR - 1200, abs=1)
        clock.now += 2 * HOUR
        assert waits(ledger, usage)[1] == 0


def test_a_pause_that_a_clock_ahead_noted_is_kept_once(
    tmp_path: Path, clock: Clock, usage: KeyUsage
) -> None:
    clock.now += DAY
    with closing(refused(tmp_path / "ledger.db", clock, usage)) as ledger:
        clock.now -= DAY
        assert waits(ledger, usage)[1] == pytest.approx(2 * HOUR, abs=1)
        for later in (HOUR, HOUR, DAY - 2 * HOUR):
            left = waits(ledger, usage)[1]
            clock.now += later
            assert waits(ledger, usage)[1] == pytest.approx(max(0, left - later), abs=1)


@pytest.mark.parametrize("wrong_by", [-DAY, 3 * HOUR, DAY])
def test_until_the_machine_restarts_no_wrong_clock_changes_a_pause(
    tmp_path: Path,
    clock: Clock,
    usage: KeyUsage,
    wrong_by: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boot = ("one", 500.0)
    monkeypatch.setattr(key_usage, "boot_clock", lambda: boot)
    with closing(refused(tmp_path / "ledger.db", clock, usage)) as ledger:
        clock.now += wrong_by
        boot = ("one", 500.0 + HOUR)
        assert waits(ledger, usage)[1] == pytest.approx(HOUR, abs=1)
        assert EarlierRuns(ledger, usage, SERVICE).pause_left() == pytest.approx(HOUR, abs=1)
        boot = ("one", 500.0 + 2 * HOUR)
        assert waits(ledger, usage)[1] == 0
        boot = ("two", 10.0)
        clock.now += HOUR - wrong_by
        assert waits(ledger, usage)[1] == pytest.approx(HOUR, abs=1)


def test_this_machine_has_a_clock_that_nobody_sets() -> None:
    boot, now = key_usage.boot_clock()
    assert now <= key_usage.boot_clock()[1]
    assert bool(boot) == key_usage.BOOT_ID.exists()


def test_a_clock_that_was_behind_for_one_run_frees_no_slot(
    tmp_path: Path, clock: Clock, usage: KeyUsage
) -> None:
    with closing(bought(tmp_path / "first.db", clock, usage)) as first:
        clock.now -= DAY
        assert waits(first, usage)[0] == pytest.approx(HELD, abs=0.1)
        clock.now += DAY + 10
        assert waits(first, usage)[0] == pytest.approx(HELD, abs=0.1)
        clock.now += RATE.lost_until(0)
        assert all(wait <= 0 for wait in waits(first, usage)[0])


MOMENTS = st.floats(NOW - 10 * DAY, NOW + 10_000 * DAY)


@example(attempts=[(NOW + DAY, NOW + DAY, ANSWERED)], lesson=None, shared=False)
@example(attempts=[(NOW + DAY, NOW + DAY, LOST)], lesson=(NOW + DAY, 90.0, 7), shared=True)
@hypothesis_settings(max_examples=40)
@given(
    attempts=st.lists(
        st.tuples(MOMENTS, MOMENTS, st.sampled_from([ANSWERED, LOST, FREE])), max_size=5
    ),
    lesson=st.none() | st.tuples(MOMENTS, st.floats(0, 1e5), st.integers(1, 20)),
    shared=st.booleans(),
)
def test_nobody_waits_longer_than_a_window_and_the_recorded_pause(attempts, lesson, shared):  # type: ignore[no-untyped-def]
    """Whatever times are recorded."""
    folder = Path(tempfile.mkdtemp())
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.setattr(resuming, "time", SimpleNamespace(time=lambda: NOW))
        with (
            closing(shared_usage(SERVICE)) as usage,
            closing(Ledger(folder / "ledger.db", BASE_URL, clock)) as ledger,
        ):
            known = usage if shared else None
            journal = Journal(ledger.open_job("tenders"), FINGERPRINT, None, known)
            for sent_at, settled_at, end in attempts:
                clock.now = sent_at
                number = send(journal)
                clock.now = settled_at
                finish(journal, number, end)
            if lesson:
                clock.now, pause, slots = lesson
                finish(journal, send(journal), FREE, RateRefusal(slots, pause))
            held, paused = waits(ledger, usage)
    shutil.rmtree(folder)
    assert all(wait <= RATE.lost_until(0) + 0.01 for wait in held)
    assert paused <= (lesson[1] if lesson else 0) + 0.01


def test_a_file_that_cannot_be_used_is_reported_and_the_ledger_is_asked(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    shared_usage(SERVICE).close()
    (file,) = (machine_folder() / "limits").glob("*.db")
    file.write_bytes(b"not a database" * 1000)
    with (
        closing(shared_usage(SERVICE)) as usage,
        closing(bought(tmp_path / "first.db", clock, usage)) as first,
    ):
        assert waits(first, usage)[0] == pytest.approx(HELD, abs=0.1)
    assert caplog.text.count("cannot be kept for other ledgers") == 1


def test_invalid_values_in_it_are_left_out(tmp_path: Path, clock: Clock, usage: KeyUsage) -> None:
    bought(tmp_path / "first.db", clock, usage).close()
    (file,) = (machine_folder() / "limits").glob("*.db")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE attempts SET settled_at = 'abc' WHERE number = 1")
        connection.execute("INSERT INTO lesson VALUES (1, 'a', 'b', 'c', 'd')")
    with closing(Ledger(tmp_path / "second.db", BASE_URL, clock)) as second:
        assert len(waits(second, usage)[0]) == len(HELD) - 1


def test_a_run_with_another_ledger_draws_no_refusal(tmp_path: Path, service: Service) -> None:
    """The service keeps the same limit, and refuses nothing: the second run waits instead."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    rate = Rate(6, 3600.0)
    with serving(service.app(key_rate=rate)) as address:
        for folder in (tmp_path / "one", tmp_path / "two"):
            user = buyer(folder, address, service.account.key, rate=str(rate), burst=True)
            user = user if folder.name == "one" else user.but(max_duration="0.3s")
            user.write(["one text", "another", "a third"])
            summary = user.run()
            assert summary.paid is not None
            if folder.name == "one":
                assert summary.parked is None
            else:
                assert summary.parked is not None
                assert summary.parked.message.startswith("Stopped after ")
                assert summary.paid.attempts == 0
