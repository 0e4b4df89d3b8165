"""What `classify` returns, whether the enriched table is in memory, in a frame or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa

from pipeline.classification.columns import new_fields
from pipeline.classification.frames import arrow_of, frame_of, with_columns
from pipeline.classification.sink import FileSink, MemorySink
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.settings import CsvOptions, ExcelOptions, Format, Settings
from pipeline.tables import read_table

__all__ = ["Result", "result_of"]


@dataclass(frozen=True)
class _File:
    """An enriched table in a file; the options are set if input and output have one format."""

    path: Path
    format: Format
    dialect: CsvOptions | None
    excel: ExcelOptions | None


@dataclass(frozen=True, repr=False)
class Result:
    """A classified table.

    Attributes:
        summary: the figures of the job; as text, it is what the command line prints.
    """

    summary: Summary
    _settings: Settings
    _stored: pa.Table | _File
    _frame: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return str(self.summary)

    @property
    def table(self) -> pa.Table:
        """The enriched table; read from the output file if there is one.

        Every column of a CSV file is read as text, and new texts that look like a formula begin
        with an apostrophe.

        A frame is converted as by ``pyarrow.Table.from_pandas``: an index other than a range also
        becomes a column, named ``__index_level_0__`` if it has no name.

        Raises:
            InputError: a frame has columns that Arrow cannot hold.
        """
        if self._frame is None:
            return self._read()
        columns, new = arrow_of(self._frame), self._new()
        for name in new.column_names:
            columns = columns.append_column(name, new[name])
        return columns

    @property
    def cost_usd(self) -> Decimal:
        """The total cost of the job, US dollars; 0 for answers that were bought before."""
        return self.summary.cost_usd

    def to_pandas(self) -> pd.DataFrame:
        """Return the enriched table as a frame.

        A data frame keeps its index and dtypes, and the new columns follow its own. If its
        columns have a MultiIndex, the new columns have "" in the other levels.
        """
        if self._frame is None:
            return frame_of(self.table, self._settings)
        return with_columns(self._frame, frame_of(self._new(), self._settings))

    def _new(self) -> pa.Table:
        return self._read().select([field.name for field in new_fields(self._settings)])

    def _read(self) -> pa.Table:
        match self._stored:
            case _File(path, format, dialect, excel):
                return read_table(path, format, dialect, excel)
            case table:
                return table


def result_of(
    source: Source, sink: FileSink | MemorySink, settings: Settings, summary: Summary
) -> Result:
    """Return the result of a finished job."""
    if isinstance(sink, MemorySink):
        frame = None if source.frame is None else source.frame.head(summary.rows)
        return Result(summary, settings, sink.table, frame)
    files, dialect, excel = source.files, None, None
    if files is not None and files.input_format == files.output_format:
        dialect = files.csv
        excel = ExcelOptions(header_row=files.excel.header_row)  # the output has only that sheet
    path = summary.output or sink.path
    return Result(summary, settings, _File(path, sink.output_format, dialect, excel))
