"""Writes the page about a run, if one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.classification.provenance import read_manifest
from pipeline.classification.summary import Summary
from pipeline.report import Collected, page, page_file
from pipeline.settings import Settings

__all__ = ["RunReport"]


class RunReport:
    """Collects what a run does, and writes the page about it at the end.

    Args:
        path: where the page goes.
        settings: the settings of the job.
        output: the file of the enriched table, whose manifest describes the run before; None if
            there is no such file.
        overwrite: whether a file that this tool did not write may be replaced.

    Raises:
        OutputError: the page cannot be written there.
    """

    def __init__(
        self, path: Path, settings: Settings, output: Path | None, overwrite: bool
    ) -> None:
        self._file = page_file(path)
        self._file.check(overwrite)
        self._previous = read_manifest(output.resolve()) if output else {}
        self._manifest: Mapping[str, Any] | None = None
        self._collected = Collected(settings)
        self.observe = self._collected.add

    def record(self, manifest: Mapping[str, Any]) -> None:
        """Receive the record of the run."""
        self._manifest = manifest

    def write(self, summary: Summary) -> bool:
        """Write the page; return False if the run wrote no table to report on.

        Raises:
            OutputError: it cannot be written; the table is in place all the same.
        """
        if self._manifest is None:
            return False
        self._file.write(page(self._collected, summary, self._manifest, self._previous))
        return True
