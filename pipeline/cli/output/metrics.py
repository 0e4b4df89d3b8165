"""The figures of a run, whatever becomes of it: one list, for every place that they go to."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.classification.summary import Summary
from pipeline.cli.output.console import exit_code_of
from pipeline.cli.output.run import COMPLETE, WITH_FAILED_ROWS
from pipeline.cli.signals import after
from pipeline.errors import OutputError
from pipeline.files.atomic import MarkedFile
from pipeline.files.regular import read_text
from pipeline.money import plain
from pipeline.versions import VERSIONS

__all__ = [
    "METRICS",
    "Destination",
    "Finished",
    "MeasuredRun",
    "MetricsFile",
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


Finished = Callable[[Summary | None], None]
"""Receives what a run did."""


@dataclass(slots=True)
class MeasuredRun:
    """A run and its figures: when it began and ended, in seconds since 1970, and how long it took.

    The monotonic clock measures that. The run has the name of its input file, or the number of
    files if there are several.
    """

    name: str
    started: float
    ended: float = 0.0
    seconds: float = 0.0
    exit_code: int = 1
    summary: Summary | None = None

    def finish(self, summary: Summary | None) -> None:
        """Record what the run did; see `Finished`."""
        self.summary = summary

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


MARK = "# Metrics of tender-pipeline run."

SETTING = "metrics-file"

LAST_SUCCESS = re.compile(r"^tender_pipeline_last_success_timestamp_seconds\{.*\} (\S+)$", re.M)

log = logging.getLogger("pipeline")


@dataclass(frozen=True, slots=True)
class MetricsFile:
    """A file of metrics.

    Attributes:
        file: the file; the label `name` of its series is its name without the suffix.
        last_success: when a run before succeeded, as the file has it; None if none did.
    """

    file: MarkedFile
    last_success: str | None

    @classmethod
    def at(cls, path: Path, overwrite: bool) -> MetricsFile:
        """Check the place of the file; `overwrite` replaces one that this tool did not write.

        Raises:
            OutputError: the file cannot be written there, or does not end in .prom.
        """
        file = MarkedFile(path, MARK, SETTING, (".prom",), "node_exporter would not read it")
        file.check(overwrite)
        return cls(file, _last_success(path))

    def __str__(self) -> str:
        return str(self.file.path)

    def write(self, run: MeasuredRun) -> None:
        """Write the figures of a run, or warn that they cannot be written."""
        try:
            self.file.write(self._text(run))
        except OutputError as error:
            log.warning("%s", error)

    def _text(self, run: MeasuredRun) -> str:
        by_metric: dict[str, list[str]] = {}
        for metric, labels, value in run.samples(self.last_success):
            pairs = {"name": self.file.path.stem, **labels}.items()
            shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in pairs)
            line = f"tender_pipeline_{metric}{{{shown}}} {value}"
            by_metric.setdefault(metric, []).append(line)
        parts = (
            f"# HELP tender_pipeline_{metric} {METRICS[metric]}\n"
            f"# TYPE tender_pipeline_{metric} gauge\n" + "\n".join(lines)
            for metric, lines in by_metric.items()
        )
        return "\n".join([MARK, *parts, ""])


def _escaped(text: str) -> str:
    """Return the value of a label as the format requires it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _last_success(path: Path) -> str | None:
    try:
        found = LAST_SUCCESS.search(read_text(path))
    except (OSError, UnicodeDecodeError):
        return None
    return found and found[1]
