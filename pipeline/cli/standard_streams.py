"""Standard input as a table that is read twice, standard output as one that comes whole or not."""

from __future__ import annotations

import errno
import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.classification.sink import Draft
from pipeline.classification.writing import Writing
from pipeline.cli.options import silence
from pipeline.errors import InputError, OutputError, PipelineError
from pipeline.files.atomic import translated
from pipeline.settings import Format
from pipeline.tables import Reader, open_writer, spooled

__all__ = ["StandardOutput", "from_standard_input", "to_standard_output"]

log = logging.getLogger("pipeline")


def to_standard_output(values: Mapping[str, Any]) -> bool:
    """Tell by a command's options whether its table goes to standard output.

    It does where the output is ``-``, and where only the input is.
    """
    return str(values["output"] or values["input_path"]) == "-"


@contextmanager
def from_standard_input() -> Iterator[Path]:
    """Copy standard input to a file; errors call it by its own name.

    Raises:
        InputError: it is closed.
    """
    if sys.stdin is None:
        raise InputError(
            "Standard input is closed.",
            "Send a table into the command (cat tenders.csv | ...), or give its path.",
        )
    with spooled(sys.stdin.buffer) as copy:
        try:
            yield copy
        except PipelineError as error:
            error.message = error.message.replace(str(copy), "Standard input")
            raise


@dataclass(frozen=True, slots=True)
class StandardOutput:
    """Standard output as a `pipeline.classification.sink.Target`.

    A pipe cannot be taken back, so the table is made in a temporary file and sent when it is
    complete: a run that fails sends nothing. There is no manifest.

    Attributes:
        output_format: the table's format.
    """

    output_format: Format
    path: None = field(default=None, init=False)

    @property
    def partial(self) -> StandardOutput:
        """The same: the table so far is sent where the complete one would be."""
        return self

    def check(self) -> None:
        """Refuse a closed standard output, and Parquet on a terminal.

        Raises:
            OutputError: it is one of them.
        """
        if sys.__stdout__ is None:
            raise OutputError(
                "Standard output is closed.", "Send it to a file or a command: > FILE, | COMMAND."
            )
        if self.output_format == "parquet" and sys.stdout.isatty():
            raise OutputError(
                "Parquet is not for a terminal.",
                "Send it to a file (> FILE, --output PATH), or show CSV: --output-format csv.",
            )

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a temporary file; see `pipeline.classification.sink.Target.draft`.

        Raises:
            OutputError: it cannot be written.
        """
        with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
            temporary = Path(folder) / "stdout"
            with translated(temporary):
                name = f"stdout.{self.output_format}"
                made = open_writer(temporary, name, self.output_format, reader, new_fields)
            writer = Writing(made, temporary)
            try:
                yield _Draft(writer, temporary)
            except BaseException:
                with suppress(Exception):
                    writer.abort()
                raise

    def discard(self) -> None:
        """Leave what was sent to whoever has it."""


@dataclass(frozen=True, slots=True)
class _Draft:
    writer: Writing
    temporary: Path

    def commit(self, manifest: Mapping[str, Any]) -> None:  # noqa: ARG002 - a file keeps it
        """Send the table; that its reader leaves early (``| head``) is no error."""
        try:
            with self.temporary.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except OSError as error:
            silence()
            if error.errno != errno.EPIPE:
                raise OutputError(
                    f"Standard output cannot be written to: {error.strerror or error}.",
                    "Free some space, or write to a file: --output PATH.",
                ) from error
            log.warning("Standard output was closed before the whole table was sent.")
