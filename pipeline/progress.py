"""Shows how far a job is: a bar on a terminal or in a notebook, plain lines in a log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

__all__ = ["Advance", "Progress", "bar", "log_lines", "silent"]

Advance: TypeAlias = Callable[[int], None]
"""Told how many more rows are done."""

Progress: TypeAlias = Callable[[int], AbstractContextManager[Advance]]
"""Given the number of rows to come, opens a display that is told of the rows done."""

SECONDS_BETWEEN_LINES = 10.0

log = logging.getLogger(__name__)


@contextmanager
def bar(rows: int) -> Iterator[Advance]:
    """Show a bar with rate and remaining time."""
    # Imported late: in a notebook without widgets the import itself warns.
    from tqdm.auto import tqdm

    with tqdm(total=rows, unit=" rows", dynamic_ncols=True, smoothing=0.1) as display:

        def advance(done: int) -> None:
            display.update(done)

        yield advance


@contextmanager
def log_lines(rows: int) -> Iterator[Advance]:
    """Log a line now and then, with rate and remaining time."""
    started = said = time.monotonic()
    total_done = 0

    def advance(done: int) -> None:
        nonlocal said, total_done
        total_done += done
        now = time.monotonic()
        if now - said < SECONDS_BETWEEN_LINES or not total_done:  # no rate yet
            return
        said = now
        rate = total_done / (now - started)
        left = (rows - total_done) / rate
        log.info(f"{total_done:,} of {rows:,} rows, {rate:,.0f} rows/s, {left:,.0f} s left")

    yield advance


@contextmanager
def silent(rows: int) -> Iterator[Advance]:  # noqa: ARG001 - the others need it
    """Show nothing."""
    yield lambda done: None  # noqa: ARG005
