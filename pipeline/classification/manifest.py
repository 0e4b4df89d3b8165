"""The record beside an output: its input, settings, figures and cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.classification.plan import Plan
from pipeline.classification.provenance import VERSIONS
from pipeline.classification.summary import Summary
from pipeline.settings import CsvOptions, ExcelOptions, Format, Settings

__all__ = ["Files", "manifest"]

OLD_KEYS = {"roll_up": "back_off"}
"""Settings that were renamed; the manifest keeps their old names, which scripts read."""


@dataclass(frozen=True, slots=True)
class Files:
    """The formats of a job's files.

    Attributes:
        input_format: the format of the input.
        output_format: the format of the output.
        overwrite: whether a file that this tool did not write may be replaced.
        csv: the options of a CSV file; None in it means "detected".
        excel: the sheet and the header row of a workbook; None in it means "detected".
    """

    input_format: Format
    output_format: Format
    overwrite: bool
    csv: CsvOptions
    excel: ExcelOptions = field(default_factory=ExcelOptions)


def manifest(
    source: Path | None,
    fingerprint: str,
    settings: Settings,
    plan: Plan,
    summary: Summary,
    files: Files | None = None,
) -> dict[str, Any]:
    """Return the record of a job as JSON types, without secrets or texts from the table."""
    finished = datetime.now(UTC)
    return {
        "tool": "tender-pipeline",
        "input": {"path": None if source is None else str(source), "sha256": fingerprint},
        "settings": {OLD_KEYS.get(name, name): value for name, value in asdict(settings).items()},
        "files": None if files is None else asdict(files),
        "plan": plan.row_counts,
        "summary": summary.to_dict(),
        "finished": finished.isoformat(timespec="seconds"),
        "versions": VERSIONS,
        "exit_state": _exit_state(summary),
    }


def _exit_state(summary: Summary) -> str:
    if summary.parked:
        return "parked"
    return "complete with failed rows" if summary.failed else "complete"
