"""Shows how far a purchase is: calls, money, and the time that the limit leaves."""

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
"""Told how many more calls came to an end, and what to say beside the count."""

BuyingProgress: TypeAlias = Callable[[int], AbstractContextManager[AdvanceBuying]]
"""Given the number of calls to buy, opens a display."""

SECONDS_BETWEEN_LINES = 30.0

log = logging.getLogger(__name__)


@contextmanager
def buying_bar(calls: int) -> Iterator[AdvanceBuying]:
    """Show a bar; the time left is the limiter's, not the first burst's."""
    # Imported late: in a notebook without widgets the import itself warns.
    from tqdm.auto import tqdm

    form = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
    with tqdm(total=calls, unit=" calls", dynamic_ncols=True, bar_format=form) as display:

        def advance(done: int, note: str) -> None:
            display.set_postfix_str(note, refresh=False)
            display.update(done)

        yield advance


@contextmanager
def buying_lines(calls: int) -> Iterator[AdvanceBuying]:
    """Log a line now and then."""
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
    """Write a time as people say it."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s"
