"""Writes the figures of a run for Prometheus.

node_exporter's textfile collector reads them: a file in the text format, whose name ends in .prom.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path

from pipeline.cli.output.metrics import METRICS, MeasuredRun
from pipeline.errors import OutputError
from pipeline.files.atomic import MarkedFile
from pipeline.files.regular import read_text

__all__ = ["MetricsFile"]

MARK = "# Metrics of tender-pipeline run."

OPTION = "--metrics-file"

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
        file = MarkedFile(path, MARK, OPTION, (".prom",), "node_exporter would not read it")
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
