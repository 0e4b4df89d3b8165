from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest

from pipeline.interruption import Interruption


def ended() -> Future[None]:
    work: Future[None] = Future()
    work.set_result(None)
    return work


def test_without_one_the_work_is_waited_for() -> None:
    interruption = Interruption()
    interruption.check()
    work: Future[None] = Future()
    threading.Timer(0.01, work.set_result, [None]).start()
    interruption.wait(work)
    assert work.done()
    interruption.wait(ended())


def test_each_time_it_is_asked_for_interrupts_one_wait() -> None:
    interruption = Interruption()
    work: Future[None] = Future()
    for _ in range(2):
        threading.Thread(target=interruption.ask).start()
        with pytest.raises(asyncio.CancelledError):
            interruption.wait(work)
    threading.Timer(0.01, work.set_exception, [ValueError()]).start()
    interruption.wait(work)  # how the work ended is not its concern
    with pytest.raises(asyncio.CancelledError):
        interruption.check()


def test_one_that_was_asked_for_before_the_wait_is_not_lost() -> None:
    interruption = Interruption()
    interruption.ask()
    with pytest.raises(asyncio.CancelledError):
        interruption.wait(Future())
