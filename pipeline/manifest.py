"""The record beside an output: what went in, how it was made, what came out, what it cost."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline.plan import Plan
from pipeline.report import Summary
from pipeline.settings import Settings

__all__ = ["manifest"]

LIBRARIES = ("tender-pipeline", "numpy", "pandas", "pyarrow", "scipy")


def manifest(
    source: Path | None, fingerprint: str, settings: Settings, plan: Plan, summary: Summary
) -> dict[str, Any]:
    """Return the record of a job as JSON types; it holds no secret and no text of the table."""
    finished = datetime.now(UTC)
    return {
        "tool": "tender-pipeline",
        "input": {"path": None if source is None else str(source), "sha256": fingerprint},
        "settings": asdict(settings),
        "plan": asdict(plan),
        "summary": summary.to_dict(),
        "finished": finished.isoformat(timespec="seconds"),
        "versions": {name: version(name) for name in LIBRARIES},
        "exit_state": "complete" if not summary.failed else "complete with failed rows",
    }
