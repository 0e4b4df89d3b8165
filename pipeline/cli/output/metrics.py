"""The figures of a run for Prometheus, whatever becomes of it."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.classification.summary import COMPLETE, WITH_FAILED_ROWS, Summary
from pipeline.cli.output.console import explain_end
from pipeline.cli.process import after
from pipeline.errors import OutputError
from pipeline.files.atomic import MarkedFile
from pipeline.files.regular import read_text
from pipeline.money import plain
from pipeline.versions import VERSIONS

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

Sample = tuple[str, Mapping[str, str], str]
"""A metric, its further labels and its value."""

Finished = Callable[[Summary], None]
"""Receives what a run did."""

MARK = "# Metrics of tender-pipeline run."

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
        otherwise = "node_exporter would not read it"
        file = MarkedFile(path, MARK, "metrics-file", (".prom",), otherwise)
        file.check(overwrite)
        return cls(file, _last_success(path))

    def measure(self, work: Callable[[Finished], int]) -> int:
        """Do the work of a run, and write its figures even if it fails; return its exit code.

        If they cannot be written, that is only a warning: the exit code is about the table.
        """
        begun = time.monotonic()
        done: list[Summary] = []

        def write(exit_code: int) -> None:
            try:
                self.file.write(self._text(exit_code, time.monotonic() - begun, done))
            except OutputError as error:
                log.warning("%s", error)

        try:
            code = work(done.append)
        except BaseException as error:
            with suppress(KeyboardInterrupt, SystemExit):  # the error of the run says more
                write(explain_end(error).exit_code)
            raise
        with after(lambda: "the run itself had ended, but not all of its figures were exported"):
            write(code)
        return code

    def _text(self, exit_code: int, seconds: float, done: list[Summary]) -> str:
        now = f"{time.time():.3f}"
        success = now if exit_code in (COMPLETE, WITH_FAILED_ROWS) else self.last_success
        samples: list[Sample] = [
            ("info", {"version": VERSIONS["tender-pipeline"]}, "1"),
            ("last_run_timestamp_seconds", {}, now),
            *([("last_success_timestamp_seconds", {}, success)] if success else []),
            ("last_run_duration_seconds", {}, f"{seconds:.3f}"),
            ("last_run_exit_code", {}, str(exit_code)),
            *(sample for summary in done for sample in figures(summary)),
        ]
        by_metric: dict[str, list[str]] = {}
        for metric, labels, value in samples:
            pairs = {"name": self.file.path.stem, **labels}.items()
            shown = ",".join(f'{label}="{_escape(text)}"' for label, text in pairs)
            line = f"tender_pipeline_{metric}{{{shown}}} {value}"
            by_metric.setdefault(metric, []).append(line)
        parts = (
            f"# HELP tender_pipeline_{metric} {METRICS[metric]}\n"
            f"# TYPE tender_pipeline_{metric} gauge\n" + "\n".join(lines)
            for metric, lines in by_metric.items()
        )
        return "\n".join([MARK, *parts, ""])


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


def _escape(text: str) -> str:
    """Return the value of a label as the format requires it."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _last_success(path: Path) -> str | None:
    try:
        last = LAST_SUCCESS.search(read_text(path))
    except (OSError, UnicodeDecodeError):
        return None
    return last and last[1]
