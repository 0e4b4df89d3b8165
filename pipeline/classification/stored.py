"""Where the enriched table of a result is: in memory or in a file."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from pipeline.file_options import CsvOptions, ExcelOptions, Format
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath
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

    def read(self) -> pa.Table:
        """Return the table."""
        return self.table


@dataclass(frozen=True)
class InFile:
    """An enriched table in a file, with the options to read it with.

    Attributes:
        known: a column that it has, which shows where its column names are.
    """

    path: AnyPath
    format: Format
    csv: CsvOptions
    excel: ExcelOptions
    known: str

    def read(self) -> pa.Table:
        """Return the table."""
        wanted = [self.known] if self.format == "csv" and self.csv.header else []
        with local_table(self.path, Storage()) as (path, _):
            return read_table(path, self.format, self.csv, self.excel, wanted)


def _unpickled(stream: pa.Buffer) -> InMemory:
    return InMemory(pa.ipc.open_stream(stream).read_all())
