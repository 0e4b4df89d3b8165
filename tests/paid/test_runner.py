"""A purchase runs in a thread of its own, and a signal stops it in an orderly way."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.interruption import Interruption, Work
from pipeline.paid.runner import StopRequest, buy_in_thread
from pipeline.purchases import Parked


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
        parked = buy_in_thread(buying, Interruption())
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
        buy_in_thread(buying, Interruption())
    assert (ended, signals) == (["written"], [])


def loop_of_a_purchase() -> str:
    async def buying(stop_request: StopRequest) -> Parked | None:
        return Parked(0, type(asyncio.get_running_loop()).__module__, "")

    parked = buy_in_thread(buying, Interruption())
    assert parked is not None
    return parked.message


@pytest.mark.skipif(not importlib.util.find_spec("uvloop"), reason="uvloop is not installed")
def test_uvloop_is_used_where_it_is_installed() -> None:
    assert loop_of_a_purchase() == "uvloop"


def test_a_purchase_runs_without_uvloop_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_of_a_purchase().startswith("asyncio.")
