"""What a purchase says while it runs: how long it will take, and what it waits for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

import pytest

from pipeline.answers import System
from pipeline.paid import pool as pool_module
from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import NotSent, Reply
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.limits import Budget
from pipeline.paid.pool import Pool
from pipeline.paid.runner import show_progress
from pipeline.rate import AUTHENTICATED, Rate
from tests.paid.client.virtual_time import START
from tests.paid.ledger.buying import FINGERPRINT
from tests.paid.model_server import InlineLoop, ModelServer, numbered

UNDERSTOOD = 1005.0
"""The first call goes alone, so that until its answer is there nothing says how fast it goes."""

LEFT = re.compile(r"(\d+) (s|min) left")


@dataclass
class Display:
    """Notes what it receives, and when."""

    told: list[tuple[float, int, str]] = field(default_factory=list)

    def advance(self, calls: int, note: str) -> None:
        self.told.append((asyncio.get_running_loop().time(), calls, note))

    @property
    def notes(self) -> list[str]:
        return [note for _, _, note in self.told]


def buy(
    server: ModelServer,
    job: Job,
    calls: int,
    *,
    rate: Rate | None = AUTHENTICATED,
    stop_after: float | None = None,
    loop: type[InlineLoop] = InlineLoop,
) -> tuple[Display, float]:
    """Buy some calls; return what was displayed, and when it ended."""

    async def main() -> tuple[Display, float]:
        display = Display()
        pool = Pool(
            cast(Client, server),
            Throttle(rate),
            Journal(job, FINGERPRINT),
            Budget(Decimal(0), None, None),
            systems=["cpv"],
            to_buy=calls,
            wait=True,
        )
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, pool.stop_for_time, stop_after)
        async with show_progress(pool, display.advance):
            await pool.run(iter(numbered(calls)), 8)
        return display, asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(main())


@pytest.mark.parametrize("calls", [1, 20, 98, 99, 100, 101, 110, 250])
def test_the_time_left_is_the_time_it_takes(job: Job, calls: int) -> None:
    display, ended = buy(ModelServer([]), job, calls)
    said = [
        (int(found[1]) * {"s": 1, "min": 60}[found[2]], at)
        for at, _, note in display.told
        if (found := LEFT.search(note)) and at > UNDERSTOOD
    ]
    assert len(said) >= ended - UNDERSTOOD - 2
    for left, at in said:
        # Minutes are rounded, and an answer takes up to 4 s in this service.
        assert left == pytest.approx(ended - at, abs=40 if left >= 120 else 8, rel=0.15)


@pytest.mark.parametrize(("calls", "most_s"), [(99, 120), (100, 120), (101, 200)])
def test_a_job_that_fits_into_the_limit_is_not_spread(job: Job, calls: int, most_s: float) -> None:
    server = ModelServer([])
    _, ended = buy(server, job, calls)
    by_workers = calls * 2.1 / 8
    assert ended - 1000 < (by_workers + 10 if calls <= 100 else most_s)


def test_all_calls_are_counted_and_the_last_note_has_no_time_left(job: Job) -> None:
    display, _ = buy(ModelServer([]), job, 150)
    assert sum(calls for _, calls, _ in display.told) == 150
    assert "left" not in display.notes[-1]
    assert "left" in display.notes[-3]


def test_a_pause_that_the_service_asks_for_is_counted_down(job: Job) -> None:
    display, _ = buy(ModelServer(["detailed", "wait 9999"]), job, 5, stop_after=100)
    waiting = [note for note in display.notes if "asked to wait" in note]
    assert len(waiting) > 90
    assert waiting[0].endswith("1 refused, the service asked to wait 3 h")
    assert "0 s left" not in " ".join(display.notes)


class Down(ModelServer):
    """Cannot be reached."""

    async def send(self, *_: object) -> Reply:
        return NotSent("CONNECTION_ERROR", "ConnectionRefusedError: Connection refused")


DOWN = re.compile(
    r"0 USD, \d+ failures in a row, next try in (\d+) s: "
    r"ConnectionRefusedError: Connection refused"
)


def test_a_service_that_is_down_is_shown_as_down_with_the_next_try(
    job: Job, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool_module, "FIRST_BACKOFF", 8.0)
    display, _ = buy(Down([]), job, 5, stop_after=200)
    shown = [found for note in display.notes if (found := DOWN.fullmatch(note))]
    assert len(shown) > 60
    assert all(1 <= int(found[1]) <= 60 for found in shown)
    assert "0 s left" not in " ".join(display.notes)
    assert display.notes[-1].endswith("Connection refused")
    assert [line for line in caplog.messages if "attempts in a row failed" in line] == [
        "3 attempts in a row failed: ConnectionRefusedError: Connection refused. The run keeps "
        "trying for a while, then stops."
    ]


def test_the_next_try_after_refusals_needs_no_cause(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "FIRST_BACKOFF", 8.0)
    display, _ = buy(ModelServer(["wait 0"] * 4), job, 5)
    shown = [note for note in display.notes if "next try" in note]
    assert shown
    assert all(re.search(r" refused, next try in \d+ s$", note) for note in shown)


def test_the_rate_is_shown_while_calls_are_answered(job: Job) -> None:
    display, _ = buy(ModelServer([]), job, 60)
    rates, ended = [], 0
    for at, calls, note in display.told:
        ended += calls
        if found := re.search(r"(\d+) calls/min, ", note):
            rates.append((int(found[1]), 60 * ended / (at - START)))
    assert len(rates) > 15
    for shown, expected in rates:
        assert shown == pytest.approx(expected, rel=0.02, abs=1)


def test_a_service_that_answers_again_is_logged(
    job: Job, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool_module, "FIRST_BACKOFF", 4.0)
    caplog.set_level("INFO")
    display, _ = buy(ModelServer(["not sent"] * 4), job, 3)
    assert "The service answers again." in caplog.messages
    assert "down" not in display.notes[-1]


def test_a_wait_for_the_limit_is_shown_with_its_end(job: Job) -> None:
    display, _ = buy(ModelServer([]), job, 12, rate=Rate(10, 3600.0))
    waiting = [note for note in display.notes if "the rate limit allows the next call in" in note]
    assert len(waiting) > 1000
    assert all(LEFT.search(note) or re.search(r"\d h left", note) for note in waiting)


def test_a_slow_answer_and_a_stop_are_shown(job: Job) -> None:
    class Slow(ModelServer):
        async def send(self, system: System, text: str, candidates: object = ()) -> Reply:
            await asyncio.sleep(40)
            return await super().send(system, text)

    display, _ = buy(Slow([]), job, 5, stop_after=20)
    assert "waiting for an answer for 15 s" in " ".join(display.notes)
    assert display.notes[30] == "0 USD, stopping, waiting for 1 answer"
    assert "0 s left" not in " ".join(display.notes)


def test_a_ledger_that_is_locked_is_shown(job: Job) -> None:
    class Locked(InlineLoop):
        writes = 0

        def run_in_executor(  # type: ignore[override]
            self, executor: Executor | None, func: Callable[..., Any], *args: Any
        ) -> asyncio.Future[Any]:
            self.writes += 1
            if self.writes != 3:
                return super().run_in_executor(executor, func, *args)
            done = self.create_future()
            self.call_later(30, lambda: done.set_result(func(*args)))
            return done

    display, _ = buy(ModelServer([]), job, 5, loop=Locked)
    shown = [note for note in display.notes if "to write the ledger" in note]
    assert shown[0].endswith("waiting for 11 s to write the ledger")
    assert shown[-1].endswith("waiting for 30 s to write the ledger")
    assert "ledger" not in display.notes[-1]
