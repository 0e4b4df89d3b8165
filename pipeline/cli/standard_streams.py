"""Reads a table from standard input, and writes one to standard output, whole or not at all."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.classification.file_sink import FileWriter, temporary_writer
from pipeline.classification.sink import Draft
from pipeline.cli.streams import print_no_more
from pipeline.errors import InputError, OutputError, PipelineError
from pipeline.file_options import Format
from pipeline.tables import TABLE_FORMATS, Reader, spooled

__all__ = ["StandardOutput", "from_standard_input"]

log = logging.getLogger("pipeline")


@contextmanager
def from_standard_input() -> Iterator[tuple[Path, str | None]]:
    """Copy standard input to a temporary file; errors call the file "Standard input".

    It yields the file, and None because a stream has no version.

    Raises:
        InputError: standard input is closed.
    """
    if sys.stdin is None:
        raise InputError(
            "Standard input is closed.",
            "Send a table into the command (cat tenders.csv | ...), or give its path.",
        )
    with spooled(sys.stdin.buffer) as copy:
        try:
            yield copy, None
        except PipelineError as error:
            error.message = error.message.replace(str(copy), "Standard input")
            raise


@dataclass(frozen=True, slots=True)
class StandardOutput:
    """Standard output as a `pipeline.classification.sink.Sink`.

    What was written to a pipe cannot be taken back. So the table is written to a temporary file
    and sent when it is complete; a run that fails sends nothing. There is no manifest.
    """

    output_format: Format
    keeps_partial: bool = False
    path: None = field(default=None, init=False)

    @property
    def partial(self) -> StandardOutput:
        """This sink: the table so far is sent where the complete one would be."""
        return self

    def check(self) -> None:
        """Refuse a closed standard output, and binary formats on a terminal.

        Raises:
            OutputError: the table cannot go to standard output.
        """
        if sys.__stdout__ is None:
            raise OutputError(
                "Standard output is closed.", "Send it to a file or a command: > FILE, | COMMAND."
            )
        if TABLE_FORMATS[self.output_format].is_packed and sys.stdout.isatty():
            raise OutputError(
                f"A table of the format {self.output_format} cannot be shown on a terminal.",
                "Send it to a file (> FILE, --output PATH), or show CSV: --output-format csv.",
            )

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a temporary file; see `pipeline.classification.sink.Sink.draft`.

        Raises:
            OutputError: the file cannot be written.
        """
        name = f"stdout.{self.output_format}"
        with temporary_writer(name, self.output_format, reader, new_fields) as opened:
            yield _Draft(*opened)

    def note(self, parked: Mapping[str, Any]) -> None:
        """Do nothing: there is no manifest."""

    def discard(self) -> None:
        """Do nothing: what was sent cannot be removed."""


@dataclass(frozen=True, slots=True)
class _Draft:
    writer: FileWriter
    temporary: Path

    def commit(self, manifest: Mapping[str, Any]) -> None:  # noqa: ARG002 - a file keeps it
        """Send the table; a reader that leaves early (``| head``) is no error."""
        try:
            with self.temporary.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            print_no_more(error, "Free some space, or write to a file: --output PATH.")
            log.warning("Standard output was closed before the whole table was sent.")
