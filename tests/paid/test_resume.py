"""What a run learned of the limit is known to the next one, however it ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pipeline.paid.client.throttle import Throttle
from pipeline.paid.client.urls import key_fingerprint
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.schema import CallOpen, RateRefusal
from pipeline.paid.purchase import EarlierRuns
from pipeline.paid.service import PaidService
from pipeline.rate import AUTHENTICATED, Rate
from tests.paid.ledger.buying import (
    ANSWERED,
    BASE_URL,
    FINGERPRINT,
    FREE,
    LOST,
    Clock,
    buy,
    finish,
    new_job,
    send,
)
from tests.paid.serving import Buyer, Service, buyer, serving, some

T = TypeVar("T")

DAY = 86_400
NOW = 1_800_000_000.0


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has used the key yet."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time())


def learned(path: Path, clock: Clock, refusal: RateRefusal) -> Ledger:
    """Return a ledger in which a refusal is written down, at a time."""
    ledger = Ledger(path, BASE_URL, clock)
    journal = Journal(ledger.open_job("tenders"), FINGERPRINT)
    finish(journal, send(journal), FREE, refusal)
    return ledger


def of_next_run(ledger: Ledger, look: Callable[[Throttle], T], rate: Rate | None) -> T:
    async def main() -> T:
        service = PaidService(BASE_URL, "key", "ledger.db", rate=str(rate or "none"))
        return look(EarlierRuns(ledger, service).throttle())

    return asyncio.run(main())


def test_slots_and_pause_are_those_that_were_learned(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = learned(tmp_path / "ledger.db", clock, RateRefusal(75, 3_600.0))
    slots, left = of_next_run(ledger, lambda it: (it.slots, it.pause_left), AUTHENTICATED)
    assert slots == 75
    assert 3_590 < left <= 3_600
    assert "nothing is sent for 60 min" in caplog.text
    assert of_next_run(ledger, lambda it: it.pause_left, None) > 3_590
    ledger.close()


def test_a_pause_that_is_over_holds_nobody_back_and_slots_come_back(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.now -= 3_600
    ledger = learned(tmp_path / "ledger.db", clock, RateRefusal(75, 3_600 - 5 * 60.06 - 10))
    clock.now += 3_600
    slots, left = of_next_run(ledger, lambda it: (it.slots, it.pause_left), AUTHENTICATED)
    assert (slots, left) == (85, 0)
    assert "nothing is sent" not in caplog.text
    ledger.close()


RATE = Rate(10, 60.0)
HELD = [RATE.answered_until(0), RATE.lost_until(0), RATE.lost_until(0)]
UNSENT = CallOpen("free", "CONNECTION_ERROR")


def waits(ledger: Ledger) -> tuple[list[float], float]:
    """Return after how long each slot comes free for the next run, and its pause."""

    def look(throttle: Throttle) -> tuple[list[float], float]:
        now = asyncio.get_running_loop().time()
        return sorted(until - now for until in throttle._busy_until), throttle.pause_left

    return of_next_run(ledger, look, RATE)


def bought(path: Path, clock: Clock) -> Ledger:
    """Return a ledger with an answer, a loss, one that was never sent and one under way."""
    ledger = Ledger(path, BASE_URL, clock)
    journal = Journal(ledger.open_job("tenders"), FINGERPRINT)
    for end in (ANSWERED, LOST, UNSENT):
        buy(journal, end)
    send(journal)
    return ledger


def test_the_slots_of_the_run_before_are_held(tmp_path: Path, clock: Clock) -> None:
    with closing(bought(tmp_path / "ledger.db", clock)) as ledger:
        assert waits(ledger)[0] == pytest.approx(HELD, abs=0.1)
        clock.now += 30  # that under way counts as ended now
        assert waits(ledger)[0] == pytest.approx([HELD[0] - 30, HELD[1] - 30, HELD[2]], abs=0.1)


def test_a_clock_that_ran_ahead_frees_no_slot(tmp_path: Path, clock: Clock) -> None:
    clock.now += DAY
    with closing(bought(tmp_path / "ledger.db", clock)) as ledger:
        clock.now -= DAY
        assert waits(ledger)[0] == pytest.approx(HELD, abs=0.1)


@pytest.mark.parametrize("wrong_by", [-9999 * DAY, -DAY, -3600, DAY])
def test_a_run_with_a_wrong_clock_forgets_no_pause(
    tmp_path: Path, clock: Clock, wrong_by: float
) -> None:
    with closing(learned(tmp_path / "ledger.db", clock, RateRefusal(7, 7200.0))) as ledger:
        clock.now += 600 + wrong_by
        assert waits(ledger)[1] == pytest.approx(7200 if wrong_by < 0 else 0, abs=1)
        clock.now += 600 - wrong_by
        assert waits(ledger)[1] == pytest.approx(7200 - 1200, abs=1)
        clock.now += 7200
        assert waits(ledger)[1] == 0


MOMENTS = st.floats(NOW - 10 * DAY, NOW + 10_000 * DAY)


@example(attempts=[(NOW + DAY, NOW + DAY, ANSWERED)], lesson=(NOW + DAY, 90.0, 7))
@example(attempts=[(NOW + DAY, NOW + DAY, LOST)], lesson=None)
@hypothesis_settings(max_examples=40)
@given(
    attempts=st.lists(
        st.tuples(MOMENTS, MOMENTS, st.sampled_from([ANSWERED, LOST, FREE])), max_size=5
    ),
    lesson=st.none() | st.tuples(MOMENTS, st.floats(0, 1e5), st.integers(1, 20)),
)
def test_nobody_waits_longer_than_a_window_and_the_recorded_pause(attempts, lesson):  # type: ignore[no-untyped-def]
    """Whatever times are recorded."""
    clock = Clock()
    with new_job(clock) as (ledger, job):
        journal = Journal(job, FINGERPRINT)
        for sent_at, settled_at, end in attempts:
            clock.now = sent_at
            number = send(journal)
            clock.now = settled_at
            finish(journal, number, end)
        if lesson:
            clock.now, pause, slots = lesson
            finish(journal, send(journal), FREE, RateRefusal(slots, pause))
        clock.now = NOW
        held, paused = waits(ledger)
    assert all(wait <= RATE.lost_until(0) + 0.01 for wait in held)
    assert paused <= (lesson[1] if lesson else 0) + 0.01


def test_a_demo_limit_that_others_used_up_is_remembered(tmp_path: Path, service: Service) -> None:
    with serving(service.app(demo_rate=Rate(1, 3600))) as address:
        user = buyer(tmp_path, address, None, rate=None, max_duration="20s")
        user.write(["one text", "another"])
        for _ in range(2):
            summary = user.run()
            assert "demo limit is used up" in some(summary.parked).message
            assert service.requests == 2


@pytest.fixture
def paused(user: Buyer, service: Service) -> Buyer:
    """A buyer whose last run was asked to wait for a day."""
    user.write(["one", "two", "three"])
    with closing(Ledger(user.service.ledger, user.service.base_url)) as ledger:
        journal = Journal(ledger.open_job("tenders"), key_fingerprint(service.account.key))
        finish(journal, send(journal), FREE, RateRefusal(75, DAY))
    return user.but(workers=1)


def test_a_pause_of_a_day_parks_at_once_and_is_in_the_plan(paused: Buyer, service: Service) -> None:
    estimate = paused.plan()
    assert DAY - 60 < estimate.pause <= estimate.seconds <= DAY
    assert "including a pause of 24 h that the service asked for" in str(estimate)
    summary = paused.run()
    assert service.requests == 0
    assert some(summary.parked).exit_code == 7
    until = datetime.now().astimezone() + timedelta(days=1)
    assert f"asked this account to wait until {until:%Y-%m-%d}" in some(summary.parked).message
    assert "--wait" in some(summary.parked).hint
    assert "TENDER_PIPELINE_IGNORE_PAUSE=true" in some(summary.parked).hint


def test_a_pause_can_be_ignored(paused: Buyer) -> None:
    ignoring = paused.but(ignore_pause=True)
    assert ignoring.plan().pause == 0
    assert ignoring.run().parked is None


def test_a_service_that_asks_for_a_day_parks_the_run(user: Buyer, service: Service) -> None:
    service.script = {2: (429, {"Retry-After": "1e12"}, "")}
    user = user.but(workers=1)
    user.write(["one", "two", "three"])
    summary = user.run()
    assert service.requests == 3
    assert (some(summary.parked).exit_code, "(24 h)" in some(summary.parked).message) == (7, True)


def test_a_run_that_waits_sits_through_a_long_pause(paused: Buyer, service: Service) -> None:
    summary = paused.but(wait=True, max_duration="0.3s").run()
    assert service.requests == 0
    assert some(summary.parked).message == "Stopped after 0 s (--max-duration)."
