"""A signal stops a purchase in an orderly way, even while its thread starts."""

from __future__ import annotations

import asyncio
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
