"""Writes the figures of a run for Prometheus, whatever becomes of the run.

node_exporter's textfile collector reads them: a file in the text format, whose name ends in .prom.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.charts.page_file import PageFile
from pipeline.classification.provenance import VERSIONS
from pipeline.classification.summary import Summary
from pipeline.cli.output.complaints import exit_code_of
from pipeline.cli.output.run import COMPLETE, WITH_FAILED_ROWS
from pipeline.errors import OutputError, SettingsError
from pipeline.files.regular import read_text
from pipeline.money import plain

__all__ = ["METRICS", "Finished", "measured"]

MARK = "# Metrics of tender-pipeline run."

OPTION = "--metrics-file"

SUFFIX = ".prom"
"""node_exporter reads no other files."""

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

LAST_SUCCESS = re.compile(r"^tender_pipeline_last_success_timestamp_seconds\{.*\} (\S+)$", re.M)

Finished = Callable[[Summary], None]
"""Receives what a run did."""

Sample = tuple[str, dict[str, str], str]
"""A metric, its further labels and its value."""

log = logging.getLogger("pipeline")


def measured(path: Path, overwrite: bool, work: Callable[[Finished], int]) -> int:
    """Do the work of a run, and write its metrics even if it fails.

    Args:
        path: where the metrics go.
        overwrite: whether a file that this tool did not write may be replaced.
        work: returns the exit code; it passes on what the run did.

    Raises:
        SettingsError: the name of the file does not end in .prom.
        OutputError: the file cannot be written there; nothing was done.
    """
    if path.suffix != SUFFIX:
        raise SettingsError(
            f"{path} does not end in {SUFFIX}, so node_exporter would not read it.",
            f"Name it so: {OPTION} FILE{SUFFIX}.",
        )
    file = PageFile(path, MARK, OPTION, f"FILE{SUFFIX}")
    file.check(overwrite)
    run = _Run(path.stem, time.monotonic(), _last_success(path))
    try:
        run.exit_code = work(run.summaries.append)
    except BaseException as error:
        run.exit_code = exit_code_of(error)
        raise
    finally:
        try:
            file.write(run.text())
        except OutputError as error:  # the exit code is about the table
            log.warning("%s", error)
    return run.exit_code


@dataclass(slots=True)
class _Run:
    """A run so far.

    Attributes:
        name: tells the series of this file from those of others.
        started: when it began, on the monotonic clock.
        last_success: when a run before succeeded, as the file has it; None if none did.
        exit_code: its exit code.
        summaries: what it did; empty if it failed before.
    """

    name: str
    started: float
    last_success: str | None
    exit_code: int = 1
    summaries: list[Summary] = field(default_factory=list)

    def text(self) -> str:
        """Return the file."""
        by_metric: dict[str, list[str]] = {}
        for metric, labels, value in self._samples():
            pairs = {"name": self.name, **labels}.items()
            shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in pairs)
            line = f"tender_pipeline_{metric}{{{shown}}} {value}"
            by_metric.setdefault(metric, []).append(line)
        parts = (
            f"# HELP tender_pipeline_{metric} {METRICS[metric]}\n"
            f"# TYPE tender_pipeline_{metric} gauge\n" + "\n".join(lines)
            for metric, lines in by_metric.items()
        )
        return "\n".join([MARK, *parts, ""])

    def _samples(self) -> Iterator[Sample]:
        now = f"{time.time():.3f}"
        success = now if self.exit_code in (COMPLETE, WITH_FAILED_ROWS) else self.last_success
        yield "info", {"version": VERSIONS["tender-pipeline"]}, "1"
        yield "last_run_timestamp_seconds", {}, now
        if success is not None:
            yield "last_success_timestamp_seconds", {}, success
        yield "last_run_duration_seconds", {}, f"{time.monotonic() - self.started:.3f}"
        yield "last_run_exit_code", {}, str(self.exit_code)
        for summary in self.summaries:
            yield from _figures(summary)


def _figures(summary: Summary) -> Iterator[Sample]:
    yield "rows", {}, str(summary.rows)
    yield "rows_to_check", {}, str(summary.to_check)
    for system, figures in summary.systems.items():
        for status, rows in sorted(figures.statuses.items()):
            yield "row_statuses", {"system": system, "status": status}, str(rows)
    yield "cost_usd", {}, plain(summary.cost_usd)
    if summary.paid is not None:
        yield "attempts", {}, str(summary.paid.attempts)
        yield "at_risk_usd", {}, plain(summary.paid.at_risk_usd)


def _escaped(text: str) -> str:
    """Return the value of a label as the format requires it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _last_success(path: Path) -> str | None:
    try:
        found = LAST_SUCCESS.search(read_text(path))
    except (OSError, UnicodeDecodeError):
        return None
    return found and found[1]
