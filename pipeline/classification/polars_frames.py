"""Polars frames: their own columns stay in Polars, and only the text columns go through Arrow.

Polars is imported where a caller passes one of its objects or asks for one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.classification.columns import check_free
from pipeline.errors import InputError, SettingsError
from pipeline.quoting import listed
from pipeline.settings import Settings
from pipeline.tables.json_records import holders
from pipeline.tables.table import BATCH_ROWS
from pipeline.tables.texts import find_columns

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class PolarsFrame:
    """A Polars frame that is classified.

    Attributes:
        frame: the frame.
        lazy: whether it was a LazyFrame, and the enriched frame is one too.
    """

    frame: pl.DataFrame
    lazy: bool = False

    @property
    def labels(self) -> range:
        """The numbers of the rows; Polars has no index."""
        return range(self.frame.height)

    def texts(self, settings: Settings) -> pa.Table:
        """Return the text columns.

        Raises:
            SettingsError: the frame already has columns with the names of the new ones.
            InputError: it lacks a text column, or one that Arrow cannot hold.
        """
        check_free(self.frame.columns, settings)
        names = self.frame.columns
        columns = [*dict.fromkeys(holders(names, settings.text_columns))]
        positions = find_columns(names, columns, "The frame")
        return _arrow(self.frame.select([names[position] for position in positions]))

    def sample(self) -> pa.RecordBatch:
        """Return the text columns among the first rows."""
        text = _polars().selectors.string()
        table = _arrow(self.frame.head(BATCH_ROWS).select(text))
        return pa.RecordBatch.from_pydict(
            {name: table[name].combine_chunks() for name in table.column_names}
        )

    def rows(self, start: int, stop: int) -> PolarsFrame:
        """Return some rows."""
        return replace(self, frame=self.frame.slice(start, stop - start))

    def to_arrow(self) -> pa.Table:
        """Return all columns as a table.

        Raises:
            InputError: Arrow cannot hold one of them.
        """
        return _arrow(self.frame)

    def enriched(self, new: pa.Table) -> pl.DataFrame:
        """Return the frame followed by new columns."""
        return self.frame.hstack(to_polars(new))

    def as_given(self, new: pa.Table) -> pl.DataFrame | pl.LazyFrame:
        """Return the frame followed by new columns, lazy if it was lazy."""
        return self.enriched(new).lazy() if self.lazy else self.enriched(new)


def polars_of(data: Any, only_column: Callable[[], str]) -> PolarsFrame | None:
    """Return a frame for an object of Polars, or None if it is not a table."""
    polars = _polars()
    match data:
        case polars.DataFrame():
            return PolarsFrame(data)
        case polars.LazyFrame():
            return PolarsFrame(data.collect(), lazy=True)
        case polars.Series():
            return PolarsFrame(data.to_frame(only_column()))
    return None


def arrow_if_polars(data: Any, only_column: str) -> Any:
    """Return an object of Polars as a table, without columns of Python objects; others as is."""
    frame = polars_of(data, lambda: only_column) if is_polars(data) else None
    if frame is None:
        return data
    objects = _polars().selectors.object()
    return _arrow(frame.frame.drop(objects))


def is_polars(data: object) -> bool:
    """Return whether an object is of Polars, without importing it."""
    return type(data).__module__.startswith("polars.")


def to_polars(table: pa.Table) -> pl.DataFrame:
    """Return a table as a Polars frame.

    Raises:
        SettingsError: Polars is not installed.
    """
    frame: pl.DataFrame = _polars().from_arrow(table)
    return frame


def _polars() -> Any:
    try:
        import polars
    except ImportError as error:
        raise SettingsError(
            "Polars is not installed.", "Install it (pip install polars), or use to_pandas()."
        ) from error
    return polars


def _arrow(frame: pl.DataFrame) -> pa.Table:
    objects = [name for name, kind in frame.schema.items() if kind == _polars().Object]
    if objects:  # Polars would pass on the addresses of the objects
        raise InputError(
            f"Arrow cannot hold the columns of Python objects {listed(objects)}.",
            "Convert them to text first. The result's to_polars() keeps such columns.",
        )
    try:
        return frame.to_arrow()
    except pa.ArrowException as error:  # Int128
        raise InputError(
            f"Arrow cannot hold this frame: {error}.",
            "Drop or cast the column. The result's to_polars() keeps such columns.",
        ) from error
