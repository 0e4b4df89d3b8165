"""Writes the page about a run, if one is asked for."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.answers import BatchAnswers
from pipeline.classification.cloud_sink import ExistingObject
from pipeline.classification.manifest import ExistingFile, texts_of_output, written_by_us
from pipeline.classification.summary import Summary
from pipeline.errors import PipelineError
from pipeline.report import Changes, Collected, page, page_file
from pipeline.settings import Files, Settings
from pipeline.tables.formats import open_reader
from pipeline.tables.table import Batch

log = logging.getLogger("pipeline")


class RunReport:
    """Collects what a run does, and writes the page about it at the end.

    `before` is the output of the run before, with its manifest.

    Raises:
        OutputError: the page cannot be written there.
    """

    def __init__(
        self,
        path: Path,
        collected: Collected,
        before: ExistingFile | ExistingObject | None,
        files: Files,
    ) -> None:
        self._file = page_file(path)
        self._file.check(files.overwrite)
        manifest = before.manifest if before else {}
        self._previous = manifest if "finished" in manifest else {}  # it may only name a ledger
        self._manifest: Mapping[str, Any] | None = None
        self._collected = collected
        self._open_changes = partial(_changes, before, files, collected.settings)
        self._changes: Changes | None = None

    def observe(self, batch: Batch, answers: BatchAnswers) -> None:
        """Receive a batch of rows; the output before is still in place then."""
        if not self._collected.rows:
            self._changes = self._open_changes()
        self._collected.add(batch, answers)
        if self._changes is not None:
            self._changes.add(self._collected.numbers, batch.texts, answers)

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
        compared = self._changes.end() if self._changes else None
        self._file.write(page(self._collected, summary, self._manifest, self._previous, compared))
        return True


def _changes(
    before: ExistingFile | ExistingObject | None, files: Files, settings: Settings
) -> Changes | None:
    """Return the rows of the output before; None if there is no file that this tool wrote."""
    if not isinstance(before, ExistingFile):  # an object would have to be read once more
        return None
    output = before.path
    try:
        if not output.is_file() or not written_by_us(output):
            return None
        csv, excel = files.to_read_output
        texts = texts_of_output(settings.text_columns, files.input_format, files.output_format)
        reader = open_reader(output, texts, csv, files.output_format, excel)
        return Changes(reader, settings)
    except (PipelineError, OSError) as error:
        log.info("The report does not compare rows with the last run: %s", error)
        return None
