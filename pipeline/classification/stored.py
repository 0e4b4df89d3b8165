"""Where the enriched table of a result is: in memory or in a file."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from pipeline.classification.columns import new_fields
from pipeline.file_options import CsvOptions, ExcelOptions, Format
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath
from pipeline.settings import Settings
from pipeline.tables import local_table, read_table

__all__ = ["InFile", "InMemory"]


@dataclass(frozen=True)
class InMemory:
    """An enriched table in memory."""

    table: pa.Table

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the table as an Arrow stream.

        Its batches are slices of the reader's table, and each would bring all of that table along.
        """
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as stream:
            stream.write_table(self.table)
        return _unpickled, (sink.getvalue(),)

    def read(self, settings: Settings) -> pa.Table:  # noqa: ARG002 - a file needs them
        """Return the table."""
        return self.table


@dataclass(frozen=True)
class InFile:
    """An enriched table in a file, with the options to read it with."""

    path: AnyPath
    format: Format
    csv: CsvOptions
    excel: ExcelOptions

    def read(self, settings: Settings) -> pa.Table:
        """Return the table.

        Args:
            settings: those of the job that wrote it.
        """
        with local_table(self.path, Storage()) as (path, _):
            known = list[str]()
            if self.format == "csv" and self.csv.header:
                known = [new_fields(settings)[0].name]
            return read_table(path, self.format, self.csv, self.excel, known)


def _unpickled(stream: pa.Buffer) -> InMemory:
    return InMemory(pa.ipc.open_stream(stream).read_all())
