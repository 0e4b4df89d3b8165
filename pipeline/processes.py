"""Runs a function over many items in several processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from pipeline.errors import EngineError

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["AHEAD", "as_they_end", "in_processes"]

Item = TypeVar("Item")
Found = TypeVar("Found")

AHEAD = 2
"""Items for each process: one that it works on and one that waits. More take more memory."""

IDLE = 60.0
"""Seconds without work after which a process ends, so that those of a killed run do not stay."""


def in_processes(
    work: Callable[[Item], Found], items: Iterable[Item], jobs: int, worker: str
) -> Iterator[Found]:
    """Yield the result for each item, in order; this process is one of those that work.

    Args:
        work: the function; it and the items must be picklable.
        items: read as the results are taken, a few ahead.
        jobs: the number of processes; with 1, no other one is started.
        worker: what an error calls a process.

    Raises:
        EngineError: a process died.
    """
    if jobs == 1:
        yield from map(work, items)
        return
    from concurrent.futures import Future

    waiting: deque[Future[Found]] = deque()
    with _executor(jobs - 1, worker) as executor:
        for item in items:
            if sum(not each.done() for each in waiting) < AHEAD * (jobs - 1):
                waiting.append(executor.submit(work, item))
            else:  # the others have enough to do
                done: Future[Found] = Future()
                done.set_result(work(item))
                waiting.append(done)
            while waiting and (waiting[0].done() or len(waiting) >= AHEAD * jobs):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def as_they_end(
    work: Callable[[Item], Found], items: Iterable[Item], jobs: int, worker: str
) -> Iterator[Found]:
    """Yield the result for each item as soon as it is there; an item is read when it can start.

    Args:
        work: the function; it and the items must be picklable.
        items: the items.
        jobs: the number of processes.
        worker: what an error calls a process.

    Raises:
        EngineError: a process died.
    """
    from concurrent.futures import FIRST_COMPLETED, wait

    left = iter(items)
    with _executor(jobs, worker) as executor:
        under_way = {executor.submit(work, item) for item in islice(left, jobs)}
        while under_way:
            ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            under_way |= {executor.submit(work, item) for item in islice(left, len(ended))}
            yield from (future.result() for future in ended)


@contextmanager
def _executor(jobs: int, worker: str) -> Iterator[Executor]:
    """Start processes, and kill them at the end of a block."""
    # One process needs none of this.
    from concurrent.futures.process import BrokenProcessPool

    from loky import ProcessPoolExecutor

    executor = ProcessPoolExecutor(max_workers=jobs, timeout=IDLE)
    try:
        yield executor
    except BrokenProcessPool as error:
        raise EngineError(
            f"{worker} died, probably because memory ran out.",
            "Run again with fewer processes: --jobs 1.",
        ) from error
    finally:
        executor.shutdown(wait=True, kill_workers=True)
