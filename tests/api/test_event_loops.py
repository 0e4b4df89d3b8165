"""Inside event loops, and when a call is cancelled or interrupted."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

import pipeline
from pipeline.progress import Advance


def test_the_async_form_lets_the_loop_go_on(frame: pd.DataFrame) -> None:
    async def both() -> tuple[pipeline.Result, int]:
        work = asyncio.create_task(pipeline.classify_async(frame, systems="psc"))
        turns = 0
        while not work.done():
            await asyncio.sleep(0)
            turns += 1
        return await work, turns

    result, turns = asyncio.run(both())
    assert result.summary.rows == 4
    assert turns > 1


def test_the_sync_form_works_inside_a_running_loop(frame: pd.DataFrame) -> None:
    async def call() -> int:
        return pipeline.classify(frame, systems="psc").summary.rows

    assert asyncio.run(call()) == 4


def test_a_cancelled_call_stops_at_the_next_batch_and_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("description\n" + "Road marking\n" * 5000)
    seen: list[int] = []

    async def cancel() -> None:
        loop = asyncio.get_running_loop()

        @contextmanager
        def display(rows: int) -> Iterator[Advance]:
            def advance(done: int) -> None:
                seen.append(done)
                loop.call_soon_threadsafe(work.cancel)

            yield advance

        work = asyncio.create_task(
            pipeline.classify_async(
                source, systems="psc", output=tmp_path / "out.csv", progress=display
            )
        )
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancel())
    assert 1 <= len(seen) < 5
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_a_notebooks_interrupt_stops_a_call_though_it_does_not_wake_the_event_loop(
    frame: pd.DataFrame,
) -> None:
    """The kernel's signal handler leaves the cancelling to the loop's next turn."""
    main, cancelled = threading.main_thread().ident or 0, threading.Event()

    @contextmanager
    def display(rows: int) -> Iterator[Advance]:
        def advance(done: int) -> None:
            signal.pthread_kill(main, signal.SIGUSR1)
            assert cancelled.wait(20), "The loop slept on."

        yield advance

    async def interrupted() -> None:
        loop = asyncio.get_running_loop()
        call = pipeline.classify_async(frame, systems="psc", progress=display)
        work = asyncio.create_task(call)

        def cancel() -> None:
            work.cancel()
            cancelled.set()

        signal.signal(signal.SIGUSR1, lambda *_: loop.call_soon(cancel))
        with pytest.raises(asyncio.CancelledError):
            await work

    before = signal.getsignal(signal.SIGUSR1)
    try:
        asyncio.run(interrupted())
    finally:
        signal.signal(signal.SIGUSR1, before)
