"""What may be given as a table, how it is read, and where its enriched form goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pandas as pd
import pyarrow as pa

from pipeline.classification.columns import new_fields
from pipeline.classification.frames import text_sample, text_table
from pipeline.classification.manifest import Files
from pipeline.classification.result import InFile, InFrame, InMemory, Place
from pipeline.classification.sink import FileTarget, MemoryTarget, Target
from pipeline.classification.summary import Summary
from pipeline.classification.text_columns import first_rows
from pipeline.errors import InputError, SettingsError
from pipeline.paid import identity
from pipeline.settings import CsvOptions, Settings
from pipeline.tables import ArrowReader, Reader, format_of, open_reader, output_format_of

__all__ = ["Data", "Given", "given"]


class ArrowStream(Protocol):
    """Any table that offers its data to Arrow: pyarrow, Polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the data as an Arrow stream."""
        ...


Data: TypeAlias = pd.DataFrame | pa.Table | ArrowStream | str | PathLike[str]


@dataclass(frozen=True)
class Given:
    """A table that was given.

    Attributes:
        reader: reads it.
        target: where the enriched table goes.
        place: finds the enriched table, once it is there.
        identity: what its job is known by; asked for by paid jobs alone.
        source: its file, if it is in one.
        files: how its files are written.
        others: gives the first rows with the columns that the reader does not see.
    """

    reader: Reader
    target: Target
    place: Callable[[Summary], Place]
    identity: Callable[[], str]
    source: Path | None = None
    files: Files | None = None
    others: Callable[[], pa.RecordBatch] | None = None

    def sample(self) -> pa.RecordBatch:
        """Return the first rows with all columns that may hold text."""
        return self.others() if self.others else first_rows(self.reader)


def given(data: Data, settings: Settings, output: Any, overwrite: bool, csv: Any) -> Given:
    """Open what was given as a table.

    Args:
        data: the table.
        settings: what to do with it.
        output: the file of the enriched table, or None for one in memory.
        overwrite: replace an output file that this tool did not write.
        csv: how a CSV file is written; None for what is found out.

    Raises:
        SettingsError: it is no table, or has columns of our names; an argument is wrong.
        InputError: the table cannot be read, or lacks a text column.
    """
    if isinstance(data, str | PathLike):
        return _file(Path(data), settings, _path(output), overwrite, _csv(csv))
    if output is not None or csv is not None:
        raise SettingsError(
            "output and csv are for files, and this table is in memory.",
            "Write the result yourself: result.table or result.to_pandas().",
        )
    if isinstance(data, pd.DataFrame):
        return _frame(data, settings)
    target = MemoryTarget()
    reader = ArrowReader(_table(data), settings.text_columns)
    return Given(
        reader,
        target,
        lambda _: InMemory(target.table, settings),
        lambda: identity.of_contents(settings, reader.batches()),
    )


def _file(
    path: Path, settings: Settings, output: Path | None, overwrite: bool, csv: CsvOptions
) -> Given:
    reader = open_reader(path, settings.text_columns, csv)

    def known_by() -> str:
        return identity.of_files(settings, path, output)

    if output is None:
        target = MemoryTarget()
        return Given(
            reader, target, lambda _: InMemory(target.table, settings), known_by, source=path
        )
    files = Files(format_of(path), output_format_of(output), overwrite, csv)
    return Given(
        reader,
        FileTarget(output, files.output_format, overwrite, path, settings.limit_rows is not None),
        lambda summary: InFile(files, summary.output or output, settings),
        known_by,
        path,
        files,
    )


def _frame(frame: pd.DataFrame, settings: Settings) -> Given:
    """Open a frame whose other columns never leave pandas, so that they cannot change."""
    target = MemoryTarget()
    reader = ArrowReader(text_table(frame, settings), settings.text_columns)

    def place(summary: Summary) -> Place:
        new = target.table.select([field.name for field in new_fields(settings)])
        return InFrame(frame.head(summary.rows), new, settings)

    return Given(
        reader,
        target,
        place,
        lambda: identity.of_contents(settings, reader.batches()),
        others=lambda: text_sample(frame),
    )


def _path(output: Any) -> Path | None:
    if output is None:
        return None
    if not isinstance(output, str | PathLike):
        raise SettingsError(f"output is {output!r}.", "output must be the path of a file.")
    return Path(output)


def _csv(csv: Any) -> CsvOptions:
    if csv is not None and not isinstance(csv, CsvOptions):
        raise SettingsError(
            f"csv is {csv!r}.", "csv must be a CsvOptions: pipeline.CsvOptions(delimiter=';')."
        )
    return csv or CsvOptions()


def _table(data: Any) -> pa.Table:
    """Return what speaks Arrow as a table.

    Raises:
        SettingsError: it is no table.
        InputError: it says that it is one, and fails.
    """
    if isinstance(data, pd.Series) or not hasattr(data, "__arrow_c_stream__"):
        kind = type(data)
        raise SettingsError(
            f"data is a {kind.__module__}.{kind.__qualname__}, not a table.",
            "data must be a pandas frame, a table that speaks Arrow or the path of a file; make "
            'a frame of what you have: pandas.DataFrame({"description": ...}).',
        )
    try:
        return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"The table cannot be read by way of Arrow: {error}.",
            "Turn it into a pandas frame or a pyarrow table first.",
        ) from error
