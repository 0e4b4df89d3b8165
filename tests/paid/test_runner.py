"""A purchase runs in a thread of its own, a signal stops it, and it says what it waits for."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.answers import System
from pipeline.interruption import Work
from pipeline.paid import pool as pool_module
from pipeline.paid.client.outcomes import Reply
from pipeline.paid.ledger.ledger import LedgerJob
from pipeline.paid.runner import StopRequest, buy_in_thread
from pipeline.purchases import Parked
from pipeline.rate import AUTHENTICATED, Rate
from tests.paid.client.virtual_time import START
from tests.paid.model_server import ModelServer, buy, numbered
from tests.paid.serving import some


@pytest.mark.parametrize("started", [False, True], ids=["before it starts", "after that"])
@pytest.mark.parametrize("stop", [SystemExit(143), KeyboardInterrupt()])
def test_a_signal_while_the_thread_starts_stops_the_purchase(
    monkeypatch: pytest.MonkeyPatch, started: bool, stop: BaseException
) -> None:
    ended: list[str] = []

    async def buying(stop_request: StopRequest) -> Parked | None:
        stopping = asyncio.Event()

        def park(why: Parked) -> None:
            ended.append(why.message)
            stopping.set()

        pool: Any = SimpleNamespace(park=park)
        with stop_request.watching(pool, None):
            await stopping.wait()
        return None

    begin = Work.begin

    def interrupted(work: Work[Any]) -> None:
        if started:
            begin(work)
        raise stop

    monkeypatch.setattr(Work, "begin", interrupted)
    try:
        parked = buy_in_thread(buying)
    except (KeyboardInterrupt, SystemExit):
        pytest.fail("The signal's exception went through.")
    assert parked is not None
    assert parked.exit_code == (143 if isinstance(stop, SystemExit) else 130)
    assert {*ended} <= {parked.message}


def test_no_number_of_signals_leaves_a_purchase_that_still_uses_the_ledger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signals = [SystemExit(143) for _ in range(4)]
    is_begun, is_written = threading.Event(), threading.Event()
    ended: list[str] = []
    wait = Work.wait

    async def buying(_: StopRequest) -> Parked | None:
        is_begun.set()
        is_written.wait()  # as while another program has locked the ledger
        ended.append("written")
        return None

    def interrupted(work: Work[Any], seconds: float) -> None:
        is_begun.wait()
        if signals:
            raise signals.pop(0)
        is_written.set()
        wait(work, seconds)

    monkeypatch.setattr(Work, "wait", interrupted)
    with pytest.raises(SystemExit):
        buy_in_thread(buying)
    assert (ended, signals) == (["written"], [])


def test_a_purchase_runs_without_uvloop_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def buying(_: StopRequest) -> Parked | None:
        return Parked(0, type(asyncio.get_running_loop()).__module__, "")

    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert some(buy_in_thread(buying)).message.startswith("asyncio.")


@dataclass
class Display:
    """Notes what it receives, and when."""

    told: list[tuple[float, int, str]] = field(default_factory=list)

    def __call__(self, done: int, note: str = "") -> None:
        self.told.append((asyncio.get_running_loop().time(), done, note))

    @property
    def notes(self) -> list[str]:
        return [note for _, _, note in self.told]


def shown(server: ModelServer, job: LedgerJob, calls: int, **terms: Any) -> Display:
    """Buy some calls; return what was displayed."""
    display = Display()
    usual: dict[str, Any] = {"rate": AUTHENTICATED, "workers": 8}
    buy(server, job, numbered(calls), advance=display, **usual | terms)
    return display


@pytest.mark.parametrize(("calls", "most_s"), [(99, 120), (100, 120), (101, 200)])
def test_a_job_that_fits_into_the_limit_is_not_spread(
    job: LedgerJob, calls: int, most_s: float
) -> None:
    server = ModelServer([])
    shown(server, job, calls)
    by_workers = calls * 2.1 / 8
    assert server.ended_after < (by_workers + 10 if calls <= 100 else most_s)


def test_all_calls_are_counted_with_their_rate_and_the_time_left(job: LedgerJob) -> None:
    display = shown(ModelServer([]), job, 150)
    ended, rates = 0, 0
    for at, calls, note in display.told:
        ended += calls
        if found := re.search(r"(\d+) calls/min, ", note):
            rates += 1
            assert int(found[1]) == pytest.approx(60 * ended / (at - START), rel=0.02, abs=1)
    assert ended == 150
    assert rates > 15
    assert "left" not in display.notes[-1]
    assert re.search(r"\d+ s left", display.notes[-3])


def test_a_pause_that_the_service_asks_for_is_counted_down(job: LedgerJob) -> None:
    display = shown(ModelServer(["detailed", "wait for 9999"]), job, 5, stop_after=100)
    waiting = [note for note in display.notes if "asked to wait" in note]
    assert len(waiting) > 90
    assert waiting[0].endswith("1 refused, the service asked to wait 3 h")
    assert "0 s left" not in " ".join(display.notes)


def test_a_service_that_is_down_is_shown_as_down_and_logged_once(
    job: LedgerJob, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool_module, "FIRST_BACKOFF", 8.0)
    caplog.set_level("INFO")
    display = shown(ModelServer(["not sent"] * 4), job, 3)
    down = [note for note in display.notes if "failures in a row" in note]
    assert len(down) > 20
    assert {*down} <= {f"0 USD, {number} failures in a row: refused" for number in (3, 4)}
    assert "down" not in display.notes[-1]
    assert caplog.messages == [
        "3 attempts in a row failed: refused. The run keeps trying for a while, then stops.",
        "The service answers again.",
    ]


def test_a_wait_for_the_limit_is_shown_with_its_end(job: LedgerJob) -> None:
    display = shown(ModelServer([]), job, 12, rate=Rate(10, 3600.0))
    waiting = [note for note in display.notes if "the rate limit allows the next call in" in note]
    assert len(waiting) > 1000
    assert all(re.search(r"\d (s|min|h) left", note) for note in waiting)


def test_a_slow_answer_and_a_stop_are_shown(job: LedgerJob) -> None:
    class Slow(ModelServer):
        async def send(self, system: System, text: str, candidates: object = ()) -> Reply:
            await asyncio.sleep(40)
            return await super().send(system, text)

    display = shown(Slow([]), job, 5, stop_after=20)
    assert "waiting for an answer for 15 s" in " ".join(display.notes)
    assert display.notes[30] == "0 USD, stopping, waiting for 1 answer"
    assert "0 s left" not in " ".join(display.notes)
