"""Writes a table, and turns the disk's errors into errors of the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.files.atomic import translated
from pipeline.tables import Batch, NewColumn, Writer

__all__ = ["Writing"]


@dataclass(slots=True)
class Writing:
    """A writer that raises the disk's errors as errors of the output.

    Attributes:
        writer: the writer.
        path: the output's path in the messages.
    """

    writer: Writer
    path: Path

    @property
    def replaced_characters(self) -> int:
        """See `pipeline.tables.Writer`."""
        return self.writer.replaced_characters

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """See `pipeline.tables.Writer`."""
        with translated(self.path):
            self.writer.write(batch, columns)

    def close(self, metadata: dict[str, str]) -> None:
        """See `pipeline.tables.Writer`."""
        with translated(self.path):
            self.writer.close(metadata)

    def abort(self) -> None:
        """See `pipeline.tables.Writer`."""
        with translated(self.path):  # a Parquet file ends with what a full disk has no room for
            self.writer.abort()
