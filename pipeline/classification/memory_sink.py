"""An output that stays in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa

from pipeline.classification.sink import Draft, Manifest
from pipeline.file_options import Format
from pipeline.tables import ArrowWriter, Reader

__all__ = ["MemorySink"]


@dataclass(slots=True)
class MemorySink:
    """An output that stays in memory.

    Attributes:
        table: the enriched table, once committed.
        keeps_partial: see `Sink`.
        output_format: Parquet, because a table in memory can hold what a Parquet file can.
    """

    table: pa.Table = field(default_factory=lambda: pa.table({}))
    keeps_partial: bool = False
    path: None = field(default=None, init=False)
    output_format: Format = field(default="parquet", init=False)

    @property
    def partial(self) -> MemorySink:
        """This sink: a table in memory replaces nothing."""
        return self

    def check(self) -> None:
        """Accept everything."""

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a table in memory."""
        yield _MemoryDraft(self, ArrowWriter(reader.schema, new_fields))

    def note(self, parked: Manifest) -> None:
        """Do nothing: a table in memory has no manifest."""

    def discard(self) -> None:
        """Do nothing: the caller may use the table."""


@dataclass(frozen=True, slots=True)
class _MemoryDraft:
    sink: MemorySink
    writer: ArrowWriter

    def commit(self, manifest: Manifest) -> None:  # noqa: ARG002 - a file keeps it
        self.sink.table = self.writer.table
