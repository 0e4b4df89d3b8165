"""Writes a table to a file, and converts disk errors to output errors."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pipeline.file_options import Format
from pipeline.files.atomic import translated
from pipeline.tables import Batch, NewColumn, Reader, Writer, open_writer

__all__ = ["FileWriter", "temporary_writer"]


@dataclass(slots=True)
class FileWriter:
    """A writer that raises disk errors as output errors, which name the output's path."""

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


@contextmanager
def temporary_writer(
    name: str, output_format: Format, reader: Reader, new_fields: Sequence[pa.Field]
) -> Iterator[tuple[FileWriter, Path]]:
    """Open a temporary file for a table that is sent elsewhere when it is complete.

    The suffix of its name may ask for compression.

    Raises:
        OutputError: the file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
        temporary = Path(folder) / name
        with translated(temporary):
            made = open_writer(temporary, name, output_format, reader, new_fields)
        writer = FileWriter(made, temporary)
        try:
            yield writer, temporary
        except BaseException:
            with suppress(Exception):
                writer.abort()
            raise
