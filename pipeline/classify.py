"""The Python interface: classify a frame, a table or a file, in a script or a notebook."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
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
from pipeline.manifest import Files
from pipeline.money import ARROW_USD, plain
from pipeline.outputs import FileTarget, MemoryTarget
from pipeline.progress import Advance, Progress, bar, silent
from pipeline.report import Summary
from pipeline.settings import CsvOptions, Settings, check_flag
from pipeline.tables import ArrowReader, Reader, format_of, open_reader, read_table
from pipeline.tables.texts import find_columns

__all__ = ["Result", "classify", "classify_async"]


class ArrowStream(Protocol):
    """Any table that offers its data to Arrow: pyarrow, Polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the data as an Arrow stream."""
        ...


Data: TypeAlias = pd.DataFrame | pa.Table | ArrowStream | str | PathLike[str]


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
        """What it cost in all, US dollars."""
        return self.summary.cost_usd

    def to_pandas(self) -> pd.DataFrame:
        """Return the enriched table as a frame.

        For a frame that is the original one, index and dtypes kept, with the new columns
        behind its own; where columns have labels of several levels, the others are "".
        """
        return self._place.frame()


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
    settings = _settings(
        systems=systems,
        text_columns=text_columns,
        top=top,
        min_confidence=min_confidence,
        jobs=jobs,
        column_prefix=column_prefix,
        limit_rows=limit_rows,
    )
    display = _display(progress)
    check_flag("overwrite", overwrite)
    if isinstance(data, str | PathLike):
        return _classify_file(Path(data), settings, _path(output), overwrite, _csv(csv), display)
    if output is not None or csv is not None:
        raise SettingsError(
            "output and csv are for files, and this table is in memory.",
            "Write the result yourself: result.table or result.to_pandas().",
        )
    if isinstance(data, pd.DataFrame):
        return _classify_frame(data, settings, display)
    return _classify_reader(ArrowReader(_table(data), settings.text_columns), settings, display)


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


def _settings(**given: Any) -> Settings:
    """Make settings of arguments of any type: it is `Settings` that refuses the wrong ones."""
    return Settings(**given)


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


def _classify_file(
    path: Path,
    settings: Settings,
    output: Path | None,
    overwrite: bool,
    csv: CsvOptions,
    progress: Progress,
) -> Result:
    reader = open_reader(path, settings.text_columns, csv)
    if output is None:
        return _classify_reader(reader, settings, progress)
    files = Files(format_of(path), format_of(output), overwrite, csv)
    target = FileTarget(output, files.output_format, overwrite, source=path)
    engine = _engine(settings)
    summary = job.run(reader, engine, target, settings, progress, path, files=files)
    return Result(summary, _InFile(files, output, settings))


def _classify_reader(reader: Reader, settings: Settings, progress: Progress) -> Result:
    target = MemoryTarget()
    summary = job.run(reader, _engine(settings), target, settings, progress)
    return Result(summary, _InMemory(target.table, settings))


def _classify_frame(frame: pd.DataFrame, settings: Settings, progress: Progress) -> Result:
    """Classify a frame whose other columns never leave pandas, so that they cannot change."""
    names = [str(name) for name in frame.columns]
    check_free([*names, *_other_names(frame)], settings)
    places = find_columns(names, settings.text_columns, "The frame")
    texts = pa.table({names[place]: _text_array(frame.iloc[:, place]) for place in places})
    target = MemoryTarget()
    reader = ArrowReader(texts, settings.text_columns)
    summary = job.run(reader, _engine(settings), target, settings, progress)
    new = target.table.select([field.name for field in new_fields(settings)])
    return Result(summary, _InFrame(frame.head(summary.rows), new, settings))


@dataclass(frozen=True)
class _InMemory:
    """An enriched table that is here."""

    whole: pa.Table
    settings: Settings

    def table(self) -> pa.Table:
        return self.whole

    def frame(self) -> pd.DataFrame:
        return _frame(self.whole, self.settings)


@dataclass(frozen=True)
class _InFile:
    """An enriched table that is in a file, and is read from there each time."""

    files: Files
    path: Path
    settings: Settings

    def table(self) -> pa.Table:
        alike = self.files.input_format == self.files.output_format == "csv"
        options = self.files.csv if alike else None
        return read_table(self.path, self.files.output_format, options)

    def frame(self) -> pd.DataFrame:
        return _frame(self.table(), self.settings)


@dataclass(frozen=True)
class _InFrame:
    """The user's frame, and the columns that belong behind its own."""

    original: pd.DataFrame
    new: pa.Table
    settings: Settings

    def table(self) -> pa.Table:
        columns = _arrow(self.original)
        for name in self.new.column_names:
            columns = columns.append_column(name, self.new[name])
        return columns

    def frame(self) -> pd.DataFrame:
        frame = self.original
        new = _frame(self.new, self.settings).set_index(frame.index)
        # With numbers for labels, so that pandas does not try to reconcile labels of two kinds.
        parts = [frame.set_axis(range(frame.shape[1]), axis=1), new]
        enriched = pd.concat(parts, axis=1)
        enriched.columns = _labels(frame.columns, self.new.column_names)
        enriched.attrs = frame.attrs
        return enriched


def _labels(columns: pd.Index[Any], names: Sequence[str]) -> pd.Index[Any]:
    """Return the labels of columns with our names behind them, with as many levels."""
    if isinstance(columns, pd.MultiIndex):
        rest = [""] * (columns.nlevels - 1)
        padded = [(name, *rest) for name in names]
        return columns.append(pd.MultiIndex.from_tuples(padded, names=columns.names))
    if columns.dtype == object:  # append would make a missing label of None
        return pd.Index([*columns, *names], dtype=object, name=columns.name)
    return columns.append(pd.Index(names, name=columns.name))


def _other_names(frame: pd.DataFrame) -> list[str]:
    """Return the names that ours must not meet beside those of the columns."""
    padded = [
        label[0]
        for label in frame.columns
        if isinstance(label, tuple) and not any(part != "" for part in label[1:])
    ]
    return [str(name) for name in (*padded, *frame.index.names)]


def _arrow(frame: pd.DataFrame) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=None)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = ". ".join(map(str, error.args)) if isinstance(error, pa.ArrowException) else error
        raise InputError(
            f"Arrow cannot hold this frame: {reason}.",
            "Use result.to_pandas(), which holds whatever the frame held.",
        ) from error


def _frame(table: pa.Table, settings: Settings) -> pd.DataFrame:
    """Return a table as a frame; Arrow's 24 decimal places would show a cost of 0 as 0E-24."""
    frame: pd.DataFrame = table.to_pandas()
    costs = {field.name for field in new_fields(settings) if field.type == ARROW_USD}
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if name in costs and kind == ARROW_USD:
            frame[name] = frame[name].map(_shortest, na_action="ignore")
    return frame


def _shortest(usd: Decimal) -> Decimal:
    return Decimal(plain(usd))


def _text_array(column: pd.Series[Any]) -> pa.Array:
    try:
        try:
            return pa.array(column, from_pandas=True)
        except UnicodeEncodeError:
            return pa.array(column.map(_encodable), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"The column {column.name!r} holds values that are not text, or not of one kind.",
            "Turn them into text first: frame[name] = frame[name].astype(object).astype(str).",
        ) from error


def _encodable(value: object) -> object:
    """Return text without halves of surrogate pairs, which no encoding has."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _engine(settings: Settings) -> Engine:
    return Engine(settings.systems, settings.top, settings.jobs)


def _display(progress: Any) -> Progress:
    if isinstance(progress, bool):
        return bar if progress else silent
    if not callable(progress):
        raise SettingsError(
            f"progress is {progress!r}.",
            "progress must be True, False or a display such as pipeline.progress.log_lines.",
        )
    display: Progress = progress
    return display


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
