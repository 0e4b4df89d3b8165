"""A signal stops a purchase in an orderly way, even while its thread starts."""

from __future__ import annotations

import _thread
import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline import interruption
from pipeline.interruption import Interruption
from pipeline.paid.result import Parked
from pipeline.paid.runner import Brake, buy_in_thread


@pytest.mark.parametrize("started", [False, True], ids=["before it starts", "after that"])
@pytest.mark.parametrize("stop", [SystemExit(143), KeyboardInterrupt()])
def test_a_signal_while_the_thread_starts_stops_the_purchase(
    monkeypatch: pytest.MonkeyPatch, started: bool, stop: BaseException
) -> None:
    ended: list[str] = []

    async def buying(brake: Brake) -> Parked | None:
        stopping = asyncio.Event()

        def interrupt(why: Parked) -> None:
            ended.append(why.message)
            stopping.set()

        pool: Any = SimpleNamespace(interrupt=interrupt)
        with brake.watching(pool, None):
            await stopping.wait()
        return None

    def interrupted(run: Callable[[], object], given: tuple[()]) -> None:
        if started:
            _thread.start_new_thread(run, given)
        raise stop

    monkeypatch.setattr(interruption, "_thread", SimpleNamespace(start_new_thread=interrupted))
    try:
        parked = buy_in_thread(buying, Interruption())
    except (KeyboardInterrupt, SystemExit):
        pytest.fail("The signal's exception went through.")
    assert parked is not None
    assert parked.exit_code == (143 if isinstance(stop, SystemExit) else 130)
    assert {*ended} <= {parked.message}
