"""Writes a table and tells what the disk refuses as an error of the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.files.atomic import translated
from pipeline.tables import Batch, NewColumn, Writer

__all__ = ["Writing"]


@dataclass(slots=True)
class Writing:
    """A writer whose errors are told as errors of the output.

    Attributes:
        writer: the writer.
        path: what an error calls the output.
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
