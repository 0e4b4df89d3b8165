"""Writes a table, and converts disk errors to output errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.files.atomic import translated
from pipeline.tables import Batch, NewColumn, Writer

__all__ = ["Writing"]


@dataclass(slots=True)
class Writing:
    """A writer that raises disk errors as output errors.

    Attributes:
        writer: the writer.
        path: the output's path, for messages.
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
        with translated(self.path):  # closing a Parquet file writes its footer
            self.writer.abort()
