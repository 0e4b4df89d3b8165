"""Runs a function over many items in several processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from pipeline.errors import EngineError
from pipeline.wording import option

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Item = TypeVar("Item")
Found = TypeVar("Found")

Jobs: TypeAlias = int | Literal["auto"]
"""How many processes work; ``auto`` for as many as are worth their start."""

AHEAD = 2
"""Items for each process: one that it works on and one that waits. More would take more memory."""

MOST = 6
"""The most processes that ``auto`` uses. One process reads and writes all rows, in a quarter of the
time of answering them, so further processes would wait for it."""

IDLE = 60.0
"""Seconds without work after which a process ends, so that those of a killed run do not stay."""

LOOK = 1.0
"""Seconds between two looks at whether the process that started this one still lives."""


def shared_out(items: Iterable[Item], most: Jobs) -> tuple[int, Iterator[Item]]:
    """Return how many processes are worth starting for the remaining items, and these items.

    Each process gets at least `AHEAD` items and, with ``auto``, a core of its own, within the
    limits of a container and of this process. To find out, this reads a few items ahead.
    """
    from multiprocessing import current_process

    # A daemonic process may not start others: whoever started it shares out the work already.
    if most == 1 or current_process().daemon:
        return 1, iter(items)
    left = iter(items)
    ahead = list(islice(left, 2 * AHEAD))
    if len(ahead) < 2 * AHEAD:
        return 1, chain(ahead, left)
    from loky import cpu_count

    limit = min(cpu_count(), MOST) if most == "auto" else most
    ahead += islice(left, max(0, limit - 2) * AHEAD)
    return min(limit, len(ahead) // AHEAD), chain(ahead, left)


def in_processes(
    work: Callable[[Item], Found], items: Iterable[Item], jobs: int
) -> Iterator[Found]:
    """Yield the result for each item, in order; this process is one of those that work.

    The function and the items must be picklable, and items are read a few ahead. With one job, no
    other process is started.

    Raises:
        EngineError: a process died.
    """
    if jobs == 1:
        yield from map(work, items)
        return
    from concurrent.futures import Future

    waiting: deque[Future[Found]] = deque()
    with _executor(jobs - 1) as executor:
        for item in items:
            if sum(not future.done() for future in waiting) < AHEAD * (jobs - 1):
                waiting.append(_submit(executor, work, item))
            else:  # the others have enough to do
                done: Future[Found] = Future()
                done.set_result(work(item))
                waiting.append(done)
            while waiting and (waiting[0].done() or len(waiting) >= AHEAD * jobs):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _submit(executor: Executor, work: Callable[[Item], Found], item: Item) -> Future[Found]:
    """Let a process work on an item; if it starts for that, it never sees an interrupt.

    Ctrl-C in a terminal goes to all processes, and a process that is just starting would print a
    traceback. This process answers it, and kills the others.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return executor.submit(work, item)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """End this process soon after its parent, even if it waits to hand over a result."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os.kill(os.getpid(), signal.SIGKILL)  # a run that is gone waits for nothing

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _executor(jobs: int) -> Iterator[Executor]:
    """Start processes, and kill them at the end of a block, or if this process is gone."""
    # A run in one process does without these imports.
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import resource_tracker

    from loky import ProcessPoolExecutor

    resource_tracker.ensure_running()  # its start would undo the mask of `_submit`
    begin = partial(_end_with, os.getpid())
    executor = ProcessPoolExecutor(max_workers=jobs, timeout=IDLE, initializer=begin)
    try:
        yield executor
    except BrokenProcessPool as error:
        raise EngineError(
            "A worker process died, probably because memory ran out.",
            f"Run again with fewer processes: {option('jobs', 1)}.",
        ) from error
    finally:
        executor.shutdown(wait=True, kill_workers=True)
