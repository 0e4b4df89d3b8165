"""Shows how far a job is: a bar on a terminal or in a notebook, or lines in a log."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, Literal, Protocol, TypeAlias

from pipeline.errors import SettingsError
from pipeline.json_log import FIELDS
from pipeline.rate import duration

Unit: TypeAlias = Literal["rows", "calls", "responses", "reads"]
"""What a display counts; ``reads`` are rows that a training reads, each of them several times."""

Advance: TypeAlias = Callable[[int], object]
"""Adds to the count of what is done; what it returns, such as tqdm's ``update``, is ignored."""

Progress: TypeAlias = Callable[[int], AbstractContextManager[Advance]]
"""Opens a display for a number of rows, or of calls to buy. Write your own to this type."""

BAR_FORMATS: dict[Unit, str] = {"calls": "{bar} {n_fmt}/{total_fmt} calls{postfix}"}
"""Bars without tqdm's rate: the notes of a purchase have the time left at the rate limit. They must
fit 80 columns, or the end is cut off."""

MOMENT = 1.0
"""Seconds after which a notebook shows a bar by default."""

SECONDS_BETWEEN_LINES: dict[Unit, float] = {"rows": 10.0, "reads": 10.0, "calls": 30.0}

log = logging.getLogger(__name__)


class Count(Protocol):
    """Adds to the count of what is done, and shows a note instead of the rate."""

    def __call__(self, done: int, note: str = "") -> None:
        """Count some more."""


class Display(Protocol):
    """A display of this package; it is a `Progress` too."""

    def __call__(self, total: int, unit: Unit = "rows") -> AbstractContextManager[Count]:
        """Open the display for a number of rows, calls, responses or reads."""
        ...


@contextmanager
def bar(total: int, unit: Unit = "rows", delay: float = 0.0) -> Iterator[Count]:
    """Show a bar with rate and remaining time on standard error, after some seconds."""
    tqdm = import_module("tqdm.std")
    with tqdm.tqdm(
        total=total,
        unit=f" {unit}",
        dynamic_ncols=True,
        smoothing=0.1,
        bar_format=BAR_FORMATS.get(unit),
        delay=delay,
    ) as shown:

        def advance(done: int, note: str = "") -> None:
            if note:
                shown.set_postfix_str(note, refresh=False)
            shown.update(done)

        yield advance


@contextmanager
def log_lines(total: int, unit: Unit = "rows") -> Iterator[Count]:
    """Log a line every 10 seconds (every 30 for calls), with rate and remaining time."""
    started = logged = time.monotonic()
    total_done = 0

    def advance(done: int, note: str = "") -> None:
        nonlocal logged, total_done
        total_done += done
        now = time.monotonic()
        if now - logged < SECONDS_BETWEEN_LINES[unit] or not (total_done or note):
            return
        logged = now
        if not note:
            rate = total_done / (now - started)
            seconds_left = max(0, total - total_done) / rate  # a total may be an estimate
            note = f"{rate:,.0f} {unit}/s, {duration(seconds_left)} left"
        figures = {"event": "progress", "done": total_done, "total": total, "unit": unit}
        log.info(f"{total_done:,} of {total:,} {unit}, {note}", extra={FIELDS: figures})

    yield advance


@contextmanager
def silent(total: int, unit: Unit = "rows") -> Iterator[Count]:  # noqa: ARG001 - see Display
    """Show nothing."""
    yield lambda done, note="": None  # noqa: ARG005


def notebook_bar(total: int, unit: Unit = "rows") -> AbstractContextManager[Count]:
    """Show a bar if the code runs in a notebook and takes longer than a moment."""
    return bar(total, unit, MOMENT) if _in_notebook() else silent(total, unit)


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return hasattr(shell, "kernel")


def line_below_cell(line: Callable[[], str], display: Progress) -> None:
    """Show a line, which is asked for then, below a notebook's cell if a display shows there."""
    if display in (bar, notebook_bar) and _in_notebook():
        import_module("IPython.display").display({"text/plain": line()}, raw=True)


def display_for(progress: object) -> Display:
    """Return the display for the argument ``progress`` of a public function.

    Args:
        progress: True for a bar, False for none, "auto" for a bar in a notebook, or a `Progress`
            of the caller's own.

    Raises:
        SettingsError: it is something else.
    """
    if isinstance(progress, str) and progress == "auto":
        return notebook_bar
    if isinstance(progress, bool):
        return bar if progress else silent
    if progress in (bar, log_lines, notebook_bar, silent):
        return progress
    of_tqdm = str(getattr(progress, "__module__", "")).startswith("tqdm.")  # which is no Progress
    if not callable(progress) or of_tqdm:
        raise SettingsError(
            f"progress is {progress!r}.",
            'progress must be True, False, "auto" or a display such as '
            "pipeline.progress.log_lines.",
        )
    own: Callable[..., Any] = progress

    @contextmanager
    def without_notes(total: int, unit: Unit = "rows") -> Iterator[Count]:  # noqa: ARG001
        with own(total) as advance:
            yield lambda done, note="": advance(done)  # noqa: ARG005

    return without_notes
