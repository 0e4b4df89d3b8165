"""The Python interface: classify a frame, a table or a file, in a script or a notebook."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pandas as pd
import pyarrow as pa

from pipeline import job
from pipeline.answers import SYSTEMS
from pipeline.columns import check_free, new_fields
from pipeline.engine import Engine
from pipeline.errors import InputError, SettingsError
from pipeline.money import ARROW_USD, plain
from pipeline.outputs import FileTarget, MemoryTarget
from pipeline.progress import Advance, Progress, bar, silent
from pipeline.report import Summary
from pipeline.settings import CsvOptions, Settings, parse_systems
from pipeline.tables import ArrowReader, Reader, format_of, open_reader, read_table
from pipeline.tables.texts import find_columns

__all__ = ["Result", "classify", "classify_async"]


class ArrowStream(Protocol):
    """Any table that offers its data to Arrow: pyarrow, Polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the data as an Arrow stream."""
        ...


Data: TypeAlias = pd.DataFrame | pa.Table | ArrowStream | str | PathLike[str]


@dataclass(frozen=True, repr=False)
class Result:
    """A classified table.

    Attributes:
        summary: what was done, as figures; its text is what the command line prints.
    """

    summary: Summary
    _table: Callable[[], pa.Table]
    _frame: Callable[[], pd.DataFrame]

    def __repr__(self) -> str:
        return str(self.summary)

    @property
    def table(self) -> pa.Table:
        """The enriched table; read from the output file if there is one."""
        return self._table()

    @property
    def cost_usd(self) -> Decimal:
        """What it cost in all, US dollars."""
        return self.summary.cost_usd

    def to_pandas(self) -> pd.DataFrame:
        """Return the enriched table as a frame.

        For a frame that is the original one, index and dtypes kept, with the new columns
        behind its own.
        """
        return self._frame()


def classify(
    data: Data,
    *,
    systems: str | Sequence[str] = SYSTEMS,
    text_columns: str | Sequence[str] = "description",
    top: int = 1,
    min_confidence: float = 0.0,
    jobs: int = 1,
    column_prefix: str = "",
    limit_rows: int | None = None,
    output: str | PathLike[str] | None = None,
    overwrite: bool = False,
    csv: CsvOptions | None = None,
    progress: bool | Progress = False,
) -> Result:
    """Find procurement codes for every row of a table.

    Works in a script and in a notebook whose event loop is running.

    Args:
        data: a pandas frame, a pyarrow table, anything that speaks Arrow's C stream (such as a
            Polars frame), or the path of a CSV or Parquet file.
        systems: any of ``cpv``, ``psc``, ``unspsc``, ``naics``.
        text_columns: the column (or columns, joined by ". ") that hold the text.
        top: how many matches a row gets, 1 to 10; more than one adds ``<system>_matches``.
        min_confidence: a best match under this gets the status ``review``.
        jobs: how many processes the embedded engine uses.
        column_prefix: put before the name of every new column.
        limit_rows: read no more than this many rows.
        output: write the enriched table to this file instead of holding it in memory;
            for files only.
        overwrite: replace an output file that this tool did not write.
        csv: how a CSV file is written, where that is not found out right.
        progress: True shows a bar; for a display of your own see `pipeline.progress.Progress`.

    Raises:
        SettingsError: an argument is wrong, or the table has columns of our names.
        InputError: the table cannot be read, or lacks a text column.
        OutputError: the output may not or cannot be written.
    """
    settings = Settings(
        systems=parse_systems(systems),
        text_columns=(text_columns,) if isinstance(text_columns, str) else tuple(text_columns),
        top=top,
        min_confidence=min_confidence,
        jobs=jobs,
        column_prefix=column_prefix,
        limit_rows=limit_rows,
    )
    if isinstance(data, str | PathLike):
        return _classify_file(Path(data), settings, output, overwrite, csv, _display(progress))
    if output is not None or csv is not None:
        raise SettingsError(
            "output and csv are for files, and this table is in memory.",
            "Write the result yourself: result.table or result.to_pandas().",
        )
    if isinstance(data, pd.DataFrame):
        return _classify_frame(data, settings, _display(progress))
    return _classify_table(pa.table(data), settings, _display(progress))


async def classify_async(data: Data, **options: Any) -> Result:
    """Do what `classify` does, in a thread, while the event loop goes on.

    A cancelled call stops at the next batch; nothing of its output stays.

    Args:
        data: see `classify`.
        options: the keyword arguments of `classify`.
    """
    stop = threading.Event()
    options["progress"] = _stoppable(_display(options.get("progress", False)), stop)
    try:
        return await asyncio.to_thread(partial(classify, data, **options))
    except asyncio.CancelledError:
        stop.set()
        raise


def _classify_file(
    path: Path,
    settings: Settings,
    output: str | PathLike[str] | None,
    overwrite: bool,
    csv: CsvOptions | None,
    progress: Progress,
) -> Result:
    reader = open_reader(path, settings.text_columns, csv)
    if output is None:
        return _classify_reader(reader, settings, progress)
    place = Path(output)
    output_format = format_of(place)
    target = FileTarget(place, output_format, overwrite, source=path)
    summary = job.run(reader, _engine(settings), target, settings, progress, source=path)
    options = csv if format_of(path) == output_format == "csv" else None
    table = partial(read_table, place, output_format, options)
    return Result(summary, table, lambda: _frame(table()))


def _classify_table(table: pa.Table, settings: Settings, progress: Progress) -> Result:
    return _classify_reader(ArrowReader(table, settings.text_columns), settings, progress)


def _classify_reader(reader: Reader, settings: Settings, progress: Progress) -> Result:
    target = MemoryTarget()
    summary = job.run(reader, _engine(settings), target, settings, progress)
    return Result(summary, lambda: target.table, lambda: _frame(target.table))


def _classify_frame(frame: pd.DataFrame, settings: Settings, progress: Progress) -> Result:
    """Classify a frame whose other columns never leave pandas, so that they cannot change."""
    names = [str(name) for name in frame.columns]
    check_free(names, settings)
    places = find_columns(names, settings.text_columns, "The frame")
    texts = pa.table({names[place]: _text_array(frame.iloc[:, place]) for place in places})
    target = MemoryTarget()
    reader = ArrowReader(texts, settings.text_columns)
    summary = job.run(reader, _engine(settings), target, settings, progress)
    new = target.table.select([field.name for field in new_fields(settings)])
    kept = frame.head(summary.rows)

    def enriched() -> pd.DataFrame:
        return pd.concat([kept, _frame(new).set_index(kept.index)], axis=1)

    def table() -> pa.Table:
        columns = pa.Table.from_pandas(kept)
        for name in new.column_names:
            columns = columns.append_column(name, new[name])
        return columns

    return Result(summary, table, enriched)


def _frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame; Arrow's 24 decimal places would show 0 as 0E-24."""
    frame: pd.DataFrame = table.to_pandas()
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if kind == ARROW_USD:
            frame[name] = frame[name].map(_shortest, na_action="ignore")
    return frame


def _shortest(usd: Decimal) -> Decimal:
    return Decimal(plain(usd))


def _text_array(column: pd.Series[Any]) -> pa.Array:
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(
            f"The column {column.name!r} holds values of several kinds.",
            "Turn them into text first: frame[name] = frame[name].astype(str).",
        ) from error


def _engine(settings: Settings) -> Engine:
    return Engine(settings.systems, settings.top, settings.jobs)


def _display(progress: bool | Progress) -> Progress:
    if isinstance(progress, bool):
        return bar if progress else silent
    return progress


def _stoppable(progress: Progress, stop: threading.Event) -> Progress:
    @contextmanager
    def display(rows: int) -> Iterator[Advance]:
        with progress(rows) as advance:

            def checked(done: int) -> None:
                if stop.is_set():
                    raise asyncio.CancelledError
                advance(done)

            yield checked

    return display
