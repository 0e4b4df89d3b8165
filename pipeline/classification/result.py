"""What `classify` returns, wherever the enriched table is: in memory, in a frame or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import pandas as pd
import pyarrow as pa

from pipeline.classification.columns import new_fields
from pipeline.classification.frames import arrow_of, frame_of, with_columns
from pipeline.classification.manifest import Files
from pipeline.classification.sink import FileSink, MemorySink
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.settings import Format, Settings
from pipeline.tables import read_table

__all__ = ["Result", "result_of"]


class _Place(Protocol):
    """Where the enriched table is."""

    def table(self) -> pa.Table:
        """Return it as a table."""
        ...

    def frame(self) -> pd.DataFrame:
        """Return it as a frame."""
        ...


@dataclass(frozen=True, repr=False)
class Result:
    """A classified table.

    Attributes:
        summary: what was done, as figures; its text is what the command line prints.
    """

    summary: Summary
    _place: _Place

    def __repr__(self) -> str:
        return str(self.summary)

    @property
    def table(self) -> pa.Table:
        """The enriched table; read from the output file if there is one.

        From a CSV file every column comes as text, as it stands there: a text of ours that
        begins like a formula with the apostrophe that keeps it from being one.

        A frame becomes one as by ``pyarrow.Table.from_pandas``: an index other than a range is
        a column too, ``__index_level_0__`` if it has no name.

        Raises:
            InputError: a frame has columns that Arrow cannot hold.
        """
        return self._place.table()

    @property
    def cost_usd(self) -> Decimal:
        """What the job cost in all, US dollars; 0 for answers owned before."""
        return self.summary.cost_usd

    def to_pandas(self) -> pd.DataFrame:
        """Return the enriched table as a frame.

        For a frame that is the original one, index and dtypes kept, with the new columns
        behind its own; where columns have labels of several levels, the others are "".
        """
        return self._place.frame()


def result_of(
    source: Source, sink: FileSink | MemorySink, settings: Settings, summary: Summary
) -> Result:
    """Return the result of a job that was done."""
    return Result(summary, _place(source, sink, settings, summary))


def _place(
    source: Source, sink: FileSink | MemorySink, settings: Settings, summary: Summary
) -> _Place:
    if isinstance(sink, FileSink):
        return _InFile(source.files, summary.output or sink.path, sink.output_format, settings)
    if source.frame is None:
        return _InMemory(sink.table, settings)
    new = sink.table.select([field.name for field in new_fields(settings)])
    return _InFrame(source.frame.head(summary.rows), new, settings)


@dataclass(frozen=True)
class _InMemory:
    whole: pa.Table
    settings: Settings

    def table(self) -> pa.Table:
        return self.whole

    def frame(self) -> pd.DataFrame:
        return frame_of(self.whole, self.settings)


@dataclass(frozen=True)
class _InFile:
    files: Files | None
    path: Path
    format: Format
    settings: Settings

    def table(self) -> pa.Table:
        from_csv = self.files is not None and self.files.input_format == "csv"
        dialect = self.files.csv if self.files and from_csv and self.format == "csv" else None
        return read_table(self.path, self.format, dialect)

    def frame(self) -> pd.DataFrame:
        return frame_of(self.table(), self.settings)


@dataclass(frozen=True)
class _InFrame:
    """The user's frame, and the columns that belong behind its own."""

    original: pd.DataFrame
    new: pa.Table
    settings: Settings

    def table(self) -> pa.Table:
        columns = arrow_of(self.original)
        for name in self.new.column_names:
            columns = columns.append_column(name, self.new[name])
        return columns

    def frame(self) -> pd.DataFrame:
        return with_columns(self.original, frame_of(self.new, self.settings))
