"""Displays of a purchase's progress: calls, money, and the time left at the limit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

__all__ = [
    "AdvanceBuying",
    "BuyingProgress",
    "buying_bar",
    "buying_lines",
    "duration",
    "silent_buying",
]

AdvanceBuying: TypeAlias = Callable[[int, str], None]
"""Takes how many more calls have ended, and a note to show beside the count."""

BuyingProgress: TypeAlias = Callable[[int], AbstractContextManager[AdvanceBuying]]
"""Opens a display for a number of calls to buy."""

SECONDS_BETWEEN_LINES = 30.0

log = logging.getLogger(__name__)


@contextmanager
def buying_bar(calls: int) -> Iterator[AdvanceBuying]:
    """Show a bar; the time left is in the note, because tqdm would extrapolate the first burst."""
    # Imported here: in a notebook without widgets the import warns.
    from tqdm.auto import tqdm

    form = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
    with tqdm(total=calls, unit=" calls", dynamic_ncols=True, bar_format=form) as display:

        def advance(done: int, note: str) -> None:
            display.set_postfix_str(note, refresh=False)
            display.update(done)

        yield advance


@contextmanager
def buying_lines(calls: int) -> Iterator[AdvanceBuying]:
    """Log a line from time to time."""
    said = time.monotonic()
    total = 0

    def advance(done: int, note: str) -> None:
        nonlocal said, total
        total += done
        if time.monotonic() - said >= SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            log.info(f"{total:,} of {calls:,} calls, {note}")

    yield advance


@contextmanager
def silent_buying(calls: int) -> Iterator[AdvanceBuying]:  # noqa: ARG001 - the others need it
    """Show nothing."""
    yield lambda done, note: None  # noqa: ARG005


def duration(seconds: float) -> str:
    """Format a duration for people: ``24 h``, ``90 min``."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"
