"""The displays of a call from Python: of rows, of buying, and those that an interrupt stops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipeline.errors import SettingsError
from pipeline.interruption import Interruption
from pipeline.paid.progress import (
    AdvanceBuying,
    BuyingProgress,
    buying_bar,
    buying_lines,
    silent_buying,
)
from pipeline.progress import Advance, Progress, bar, log_lines, silent

__all__ = ["buying_display", "display", "watched"]


def display(progress: Any) -> Progress:
    """Return the display that a caller asks for, with True, False or one of its own.

    Raises:
        SettingsError: it is none of them.
    """
    if isinstance(progress, bool):
        return bar if progress else silent
    if not callable(progress):
        raise SettingsError(
            f"progress is {progress!r}.",
            "progress must be True, False or a display such as pipeline.progress.log_lines.",
        )
    own: Progress = progress
    return own


def watched(progress: Progress, interruption: Interruption) -> Progress:
    """Return a display that stops a job that was asked to stop."""

    @contextmanager
    def checking(rows: int) -> Iterator[Advance]:
        with progress(rows) as advance:

            def checked(done: int) -> None:
                interruption.check()
                advance(done)

            yield checked

    return checking


def buying_display(progress: Progress) -> BuyingProgress:
    """Return the display of a purchase that goes with one of rows."""
    for rows, buying in ((bar, buying_bar), (log_lines, buying_lines), (silent, silent_buying)):
        if progress is rows:
            return buying

    @contextmanager
    def counting(calls: int) -> Iterator[AdvanceBuying]:
        with progress(calls) as advance:
            yield lambda done, _: advance(done)

    return counting
