"""Runs a function over many items in several processes, reading only a few items ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from pipeline.errors import EngineError

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["AHEAD", "in_processes"]

Item = TypeVar("Item")
Found = TypeVar("Found")

AHEAD = 2
"""Items that wait for each process: enough to keep it busy, few enough to hold in memory."""

IDLE = 60.0
"""Seconds without work after which a process ends, so that those of a killed run do not stay."""


def in_processes(
    work: Callable[[Item], Found], items: Iterable[Item], jobs: int, worker: str
) -> Iterator[Found]:
    """Yield the result for each item, in order.

    Args:
        work: the function; it and the items must be picklable.
        items: read as the results are taken, a few ahead.
        jobs: the number of processes.
        worker: what an error calls a process.

    Raises:
        EngineError: a process died.
    """
    # One process needs none of this.
    from concurrent.futures.process import BrokenProcessPool

    from loky import ProcessPoolExecutor

    waiting: deque[Future[Found]] = deque()
    executor = ProcessPoolExecutor(max_workers=jobs, timeout=IDLE)
    try:
        for item in items:
            waiting.append(executor.submit(work, item))
            if len(waiting) > AHEAD * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        raise EngineError(
            f"{worker} died, probably because memory ran out.",
            "Run again with fewer processes: --jobs 1.",
        ) from error
    finally:
        executor.shutdown(wait=True, kill_workers=True)
