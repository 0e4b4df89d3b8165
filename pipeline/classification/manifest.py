"""The record beside an output: its input, settings, figures and cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipeline.classification.plan import Plan
from pipeline.classification.provenance import TOOL
from pipeline.classification.summary import Summary
from pipeline.file_options import CsvOptions, ExcelOptions, Format
from pipeline.files.paths import AnyPath
from pipeline.settings import Settings
from pipeline.versions import VERSIONS

if TYPE_CHECKING:  # offline jobs do not need the ledger
    from pipeline.paid.ledger import Mark

__all__ = ["Files", "manifest", "was_done"]


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

    @property
    def to_read_output(self) -> tuple[CsvOptions, ExcelOptions]:
        """The options with which to read the output; its dialect is that of an input like it.

        A workbook has only the sheet with the table.
        """
        if self.input_format != self.output_format:
            return CsvOptions(), ExcelOptions()
        return self.csv, ExcelOptions(header_row=self.excel.header_row)


def manifest(
    source: AnyPath | None,
    fingerprint: str,
    settings: Settings,
    plan: Plan,
    summary: Summary,
    files: Files | None = None,
    base_url: str | None = None,
    mark: Mark | None = None,
    version: str | None = None,
) -> dict[str, Any]:
    """Return the record of a job as JSON types, without secrets or texts from the table.

    Args:
        source: the input; None for a table in memory.
        fingerprint: the SHA-256 of its bytes.
        settings: the settings of the job.
        plan: what it found in the table.
        summary: what it did.
        files: the formats of its files.
        base_url: the service it bought from; None for the embedded engine.
        mark: by which a later run recognises its ledger.
        version: the version of the input; None for a file.
    """
    finished = datetime.now(UTC)
    path = None if source is None else str(source)
    object_version = {} if version is None else {"version": version}
    return {
        "tool": TOOL,
        "input": {"path": path, "sha256": fingerprint, **object_version},
        "settings": asdict(settings),
        "service": base_url,
        "ledger": None if mark is None else asdict(mark),
        "files": None if files is None else asdict(files),
        "plan": plan.row_counts,
        "summary": summary.to_dict(),
        "finished": finished.isoformat(timespec="seconds"),
        "versions": VERSIONS,
        "exit_state": _exit_state(summary),
    }


def was_done(
    found: Mapping[str, Any],
    fingerprint: str,
    settings: Settings,
    files: Files,
    base_url: str | None,
) -> bool:
    """Tell from the manifest of an output whether the same job has written it.

    It is the same job if the input's bytes, the settings, the formats, the service and the version
    of this tool are the same, and if the output is complete. The number of processes changes
    nothing in an output.

    Args:
        found: the manifest.
        fingerprint: the SHA-256 of the input's current bytes.
        settings: the settings of the job.
        files: the formats of its files.
        base_url: the service to buy from; None for the embedded engine.
    """
    wanted = {
        "input": fingerprint,
        "settings": {**asdict(settings), "jobs": None},
        "files": {**asdict(files), "overwrite": None},
        "service": base_url,
        "version": VERSIONS[TOOL],
    }
    try:
        done = {
            "input": found["input"]["sha256"],
            "settings": {**found["settings"], "jobs": None},
            "files": {**found["files"], "overwrite": None},
            "service": found["service"],
            "version": found["versions"][TOOL],
        }
        complete = bool(found["exit_state"].startswith("complete"))
    except (KeyError, TypeError, AttributeError):
        return False
    return complete and done == json.loads(json.dumps(wanted))


def _exit_state(summary: Summary) -> str:
    if summary.parked:
        return "parked"
    return "complete with failed rows" if summary.failed else "complete"
