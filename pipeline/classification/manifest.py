"""The record beside an output: its input, settings, figures and cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from pipeline.classification.plan import Plan
from pipeline.classification.provenance import TOOL
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.file_options import Files
from pipeline.settings import Settings
from pipeline.versions import VERSIONS

__all__ = ["manifest", "was_done"]


def manifest(
    source: Source,
    settings: Settings,
    plan: Plan,
    summary: Summary,
    base_url: str | None = None,
    ledger: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the record of a job as JSON types, without secrets or texts from the table.

    It has the address of the service, and that by which a later run recognises its ledger.
    """
    version = {} if source.version is None else {"version": source.version}
    return {
        "tool": TOOL,
        "input": {
            "path": None if source.path is None else str(source.path),
            "sha256": source.reader.opened_fingerprint,
            **version,
        },
        "settings": asdict(settings),
        "service": base_url,
        "ledger": ledger,
        "files": None if source.files is None else asdict(source.files),
        "plan": plan.row_counts,
        "summary": summary.to_dict(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
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
