"""The figures of a run, whatever becomes of it: one list, for every place that they go to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.classification.summary import Summary
from pipeline.cli.output.complaints import exit_code_of
from pipeline.cli.output.run import COMPLETE, WITH_FAILED_ROWS
from pipeline.cli.signals import after
from pipeline.money import plain
from pipeline.versions import VERSIONS

__all__ = [
    "METRICS",
    "Destination",
    "Finished",
    "MeasuredJob",
    "MeasuredRun",
    "Sample",
    "figures",
    "measured",
    "succeeded",
]

METRICS = {
    "info": "The version of tender-pipeline.",
    "last_run_timestamp_seconds": "When the last run ended, in seconds since 1970.",
    "last_success_timestamp_seconds": "When the last run with exit code 0 or 3 ended.",
    "last_run_duration_seconds": "How long the last run took.",
    "last_run_exit_code": "The exit code of the last run.",
    "rows": "Rows that the last run wrote.",
    "rows_to_check": "Rows among them that a person should check.",
    "row_statuses": "Rows among them by system and status.",
    "attempts": "Requests that the job has sent, over all its runs.",
    "cost_usd": "What the job has cost, over all its runs, US dollars.",
    "at_risk_usd": "What attempts without a known price may have cost in addition, US dollars.",
}
"""The meaning of each metric; the names begin with `tender_pipeline_`."""

Sample = tuple[str, dict[str, str], str]
"""A metric, its further labels and its value."""


@dataclass(frozen=True, slots=True)
class MeasuredJob:
    """One of the jobs of a run with several input files; times are seconds since 1970.

    It has no summary if it failed before.
    """

    name: str
    started: float
    ended: float
    exit_code: int
    summary: Summary | None


Finished = Callable[[Summary | None, Sequence[MeasuredJob]], None]
"""Receives what a run did, and its jobs if it had several input files."""


@dataclass(slots=True)
class MeasuredRun:
    """A run and its figures: when it began and ended, in seconds since 1970, and how long it took.

    The monotonic clock measures that. The run has the name of its input file. If there are several
    files, it has their number, and a job for each.
    """

    name: str
    started: float
    ended: float = 0.0
    seconds: float = 0.0
    exit_code: int = 1
    summary: Summary | None = None
    jobs: list[MeasuredJob] = field(default_factory=list)

    def finish(self, summary: Summary | None, jobs: Sequence[MeasuredJob]) -> None:
        """Record what the run did; see `Finished`."""
        self.summary = summary
        self.jobs.extend(jobs)

    def samples(self, last_success: str | None = None) -> Iterator[Sample]:
        """Yield the figures; `last_success` is when an earlier run succeeded, if that is known."""
        now = f"{self.ended:.3f}"
        success = now if succeeded(self.exit_code) else last_success
        yield "info", {"version": VERSIONS["tender-pipeline"]}, "1"
        yield "last_run_timestamp_seconds", {}, now
        if success is not None:
            yield "last_success_timestamp_seconds", {}, success
        yield "last_run_duration_seconds", {}, f"{self.seconds:.3f}"
        yield "last_run_exit_code", {}, str(self.exit_code)
        if self.summary is not None:
            yield from figures(self.summary)


class Destination(Protocol):
    """Where the figures of a run go."""

    def write(self, run: MeasuredRun) -> None:
        """Write the figures; if that fails, only warn, because the exit code is about the table."""
        ...


def measured(
    name: str, destinations: Sequence[Destination], work: Callable[[Finished], int]
) -> int:
    """Do the work of a run, and write its figures even if it fails."""
    run, begun = MeasuredRun(name, time.time()), time.monotonic()

    def export() -> None:
        run.ended, run.seconds = time.time(), time.monotonic() - begun
        for destination in destinations:
            destination.write(run)

    try:
        run.exit_code = work(run.finish)
    except BaseException as error:
        run.exit_code = exit_code_of(error)
        with suppress(KeyboardInterrupt, SystemExit):  # the error of the run says more
            export()
        raise
    with after("the run itself had ended, but not all of its figures were exported"):
        export()
    return run.exit_code


def succeeded(exit_code: int) -> bool:
    """Return whether a run with this exit code wrote its whole output."""
    return exit_code in (COMPLETE, WITH_FAILED_ROWS)


def figures(summary: Summary) -> Iterator[Sample]:
    """Yield what a job did."""
    yield "rows", {}, str(summary.rows)
    yield "rows_to_check", {}, str(summary.to_check)
    for system, of_system in summary.systems.items():
        for status, rows in sorted(of_system.statuses.items()):
            yield "row_statuses", {"system": system, "status": status}, str(rows)
    yield "cost_usd", {}, plain(summary.cost_usd)
    if summary.paid is not None:
        yield "attempts", {}, str(summary.paid.attempts)
        yield "at_risk_usd", {}, plain(summary.paid.at_risk_usd)
