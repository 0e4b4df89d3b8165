"""What `classify` returns, wherever the enriched table is, and what a notebook shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.answers import Band, System, band
from pipeline.arguments import public
from pipeline.classification.columns import new_fields
from pipeline.classification.excerpts import excerpt, models_there, other_columns, spoken_words
from pipeline.classification.pandas_frames import (
    copied_rows,
    frame_sample,
    frame_texts,
    frame_to_arrow,
    new_columns_of,
    restore_types,
    with_new_columns,
)
from pipeline.classification.sink import MemorySink, Sink
from pipeline.classification.source import Source
from pipeline.classification.summary import NOT_FAILED, SETTLED, Summary
from pipeline.errors import SettingsError
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath
from pipeline.money import plain
from pipeline.settings import DETECTED, CsvOptions, ExcelOptions, Format, Settings
from pipeline.tables.arrow import ArrowReader
from pipeline.tables.formats import read_table
from pipeline.tables.streams import local_table
from pipeline.wording import in_python, readable

if TYPE_CHECKING:
    import polars as pl

SHOWN = 10
"""Rows of a table that a notebook shows."""

LONGEST = 120
"""Characters of a text, or of its excerpt, that are shown at once."""

PARTS = ("code", "title", "confidence", "status")


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
        return _unpickle, (sink.getvalue(),)

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
        text_columns = [self.known] if self.format == "csv" and self.csv.header else []
        with local_table(self.path, Storage()) as (path, _):
            return read_table(path, self.format, self.csv, self.excel, text_columns)


def _unpickle(stream: pa.Buffer) -> InMemory:
    return InMemory(pa.ipc.open_stream(stream).read_all())


@dataclass(frozen=True, slots=True)
class _Cell:
    """What a notebook shows of a row in one system."""

    system: System
    code: str | None
    title: str | None
    confidence: float | None
    status: str

    @property
    def band(self) -> Band | None:
        """The band of the code; None without a code or if a person chose it."""
        has_chance = self.confidence is not None and self.status != "decided"
        return band(self.confidence or 0.0) if has_chance else None

    @property
    def share(self) -> float:
        """The confidence within 0 and 1; a service's may be on another scale."""
        return min(1.0, max(0.0, self.confidence or 0.0))


@dataclass(frozen=True, slots=True)
class _Row:
    """What a notebook shows of a row."""

    label: object
    text: str
    excerpt: str
    cells: Sequence[_Cell]
    columns: Mapping[str, str]


def _remedy(kind: str, summary: Summary) -> str:
    return in_python(summary.remedy(kind))


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """A classified table.

    Attributes:
        summary: the figures of the job; as text, it is what the command line prints.
    """

    summary: Summary
    _settings: Settings
    _stored: InMemory | InFile
    _frame: pd.DataFrame | None = None
    _polars: Literal["eager", "lazy"] | None = None

    def __repr__(self) -> str:
        return str(self.summary)

    @property
    @public
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
            return self._stored.read()
        columns, new = frame_to_arrow(self._frame), self._new()
        for name in new.column_names:
            columns = columns.append_column(name, new[name])
        return columns

    def to_arrow(self) -> pa.Table:
        """Return `table`."""
        return self.table

    @property
    def data(self) -> pd.DataFrame | pl.DataFrame | pl.LazyFrame | pa.Table:
        """The enriched table in the kind that you passed to `classify`.

        That is a pandas frame for a pandas frame or series, a Polars frame (lazy if yours was) for
        a Polars frame or series, and `table` for everything else.

        Raises:
            InputError: see `table`.
        """
        if self._frame is not None:
            return self.to_pandas()
        if self._polars is not None:
            return self.to_polars() if self._polars == "eager" else self.to_polars().lazy()
        return self.table

    @property
    def cost_usd(self) -> Decimal:
        """The total cost of the job, US dollars; 0 for answers that were bought before."""
        return self.summary.cost_usd

    def to_pandas(self, exact_costs: bool = False) -> pd.DataFrame:
        """Return the enriched table as a pandas frame.

        A data frame keeps its index and dtypes, and the new columns follow its own. If its
        columns have a MultiIndex, the new columns have "" in the other levels. Codes and titles
        are nullable strings, statuses a category, confidences and costs floats, of which an
        unknown one is NaN. Matches are lists of dicts, JSON text if they were read from a file of
        text. The exact total is `cost_usd`.

        Args:
            exact_costs: True for costs as `decimal.Decimal`, None for an unknown one.
        """
        table, frame = self._stored.read(), self._frame
        new = new_columns_of(table, self._settings, exact_costs)
        if frame is None:
            frame = table.drop_columns(new.columns.to_list()).to_pandas()
        return with_new_columns(frame, new)

    @public
    def to_polars(self) -> pl.DataFrame:
        """Return the enriched table as a Polars frame.

        Costs are exact decimals. What was read from an output file has the types of `table`.

        Raises:
            SettingsError: Polars is not installed.
            InputError: see `table`.
        """
        try:
            import polars
        except ImportError as error:
            raise SettingsError(
                "Polars is not installed.", "Install it (pip install polars), or use to_pandas()."
            ) from error
        frame: pl.DataFrame = polars.from_arrow(self.table)
        return frame

    @property
    def failed(self) -> pd.DataFrame:
        """The rows of `to_pandas` that a system has no answer for, because its call failed."""
        return self._where(lambda status: status not in NOT_FAILED)

    def to_review(self) -> pd.DataFrame:
        """Return the rows of `to_pandas` that need a look.

        Such a row has the status ``review``, ``no_match`` or an error, for at least one system.
        """
        return self._where(lambda status: status not in SETTLED)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return `table` as an Arrow stream, for Polars, DuckDB and others."""
        return self.table.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """Return the summary and the first rows for a notebook: HTML without scripts."""
        from pipeline.pages import environment  # a script does not need the templates' engine

        templates = environment("pipeline.classification")
        templates.filters |= {"readable": readable, "usd": plain, "remedy": _remedy}
        return templates.get_template("result.html.j2").render(
            summary=self.summary,
            systems=self._settings.systems,
            rows=[] if isinstance(self._stored, InFile) else [*self._first_rows()],  # may be large
            longest=LONGEST,
        )

    def _first_rows(self) -> Iterator[_Row]:
        settings = self._settings
        labels: Iterable[object]
        if self._frame is None:
            labels, columns = range(SHOWN), self._stored.read().slice(0, SHOWN)
            texts = columns
        else:
            first = self._frame.head(SHOWN)
            labels, columns = first.index, frame_sample(first)
            texts = frame_texts(first, settings)
        new = self._new().slice(0, SHOWN).to_pylist()
        (*batches,) = ArrowReader(texts, settings.text_columns).batches()
        as_classified = [text for batch in batches for text in batch.texts]
        models = models_there(settings.models, settings.systems)
        parts = zip(labels, new, as_classified, other_columns(columns, settings), strict=False)
        for label, row, text, others in parts:
            cells = [
                _Cell(system, *(row[f"{settings.column_prefix}{system}_{part}"] for part in PARTS))
                for system in settings.systems
            ]
            matches = [(each.system, each.code, each.title or "") for each in cells if each.code]
            words = spoken_words(text, matches, not self.summary.paid, models)
            yield _Row(label, text, excerpt(text, words, LONGEST), cells, others)

    def _where(self, wanted: Callable[[str], bool]) -> pd.DataFrame:
        """Return the rows of `to_pandas` of which a system has such a status."""
        new, settings = self._new(), self._settings
        names = [f"{settings.column_prefix}{system}_status" for system in settings.systems]
        rows = zip(*(new[name].to_pylist() for name in names), strict=True)
        return self.to_pandas()[np.array([any(map(wanted, each)) for each in rows], bool)]

    def _new(self) -> pa.Table:
        if isinstance(self._stored, InFile):
            return restore_types(self._stored.read(), self._settings)
        return self._stored.read().select([field.name for field in new_fields(self._settings)])


def result_of(source: Source, sink: Sink, settings: Settings, summary: Summary) -> Result:
    """Return the result of a finished job."""
    if isinstance(sink, MemorySink):
        frame = None if source.frame is None else copied_rows(source.frame, summary.rows)
        return Result(summary, settings, InMemory(sink.table), frame, source.polars)
    options = source.files.to_read_output if source.files else DETECTED
    path = cast("AnyPath", summary.output or sink.path)
    if isinstance(path, Path):
        path = path.absolute()  # a notebook may change its folder
    first_new = new_fields(settings)[0].name
    return Result(summary, settings, InFile(path, sink.output_format, *options, first_new))
