"""The input table of a job: the accepted types, how it is read, and the job's identity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

import pyarrow as pa

from pipeline.classification.text_columns import first_rows, suggesting
from pipeline.errors import InputError, SettingsError
from pipeline.files.paths import AnyPath, as_path
from pipeline.purchases import identity_of_contents, identity_of_files
from pipeline.settings import Files, Settings
from pipeline.tables.arrow import ArrowReader
from pipeline.tables.table import Reader
from pipeline.tables.texts import encodable
from pipeline.wording import cut, listed, readable, warn_in_python

if TYPE_CHECKING:  # pandas is slow to import, and file-to-file jobs do not need it
    import numpy as np
    import pandas as pd
    import polars as pl


MAY_BE = (
    "data must be a pandas frame or series, a Polars frame, an Arrow table, a list of texts or the "
    "path of a file. pandas.DataFrame(data) makes a frame of a dict or a list of records."
)


FOR_SPARK = "Call pipeline.spark.classify, or make it a pandas frame: frame.toPandas()."


def read_stream(data: Any, may_be: str = MAY_BE) -> pa.Table:
    """Return the table that an object offers with Arrow's C stream.

    ``may_be`` is what to say of data that has none.

    Raises:
        SettingsError: it has no such stream.
        InputError: Arrow cannot read it.
    """
    of_spark = type(data).__module__.startswith("pyspark.")
    if not hasattr(data, "__arrow_c_stream__"):
        kind = type(data).__qualname__
        hint = FOR_SPARK if of_spark else may_be
        raise SettingsError(f"data is of the type {kind}, not a table.", hint)
    try:
        table = pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"Arrow cannot read the table: {readable(str(error), 200)}.",
            FOR_SPARK if of_spark else "Turn it into a pandas frame or a pyarrow table first.",
        ) from error
    if isinstance(data, pa.RecordBatchReader) and not table.num_rows:
        warn_in_python(
            "The reader has no rows. If something has read it before, pass a table: "
            "table = reader.read_all()."
        )
    return table


def from_polars(data: Any, only_column: Callable[[], str]) -> Any:
    """Return an object of Polars as a table, which keeps its types; others as they are.

    ``only_column`` returns the name of the column of a series.

    Raises:
        InputError: a column holds Python objects, of which Polars would pass on the addresses.
    """
    if not of_polars(data):
        return data
    import polars

    match data:
        case polars.LazyFrame():
            data = data.collect()
        case polars.Series():
            data = data.to_frame(only_column())
        case polars.DataFrame():
            pass
        case _:
            return data
    if objects := [name for name, kind in data.schema.items() if kind == polars.Object]:
        raise InputError(
            f"Arrow cannot hold the columns of Python objects {listed(objects)}.",
            "Convert them to text, or drop them.",
        )
    try:
        return data.to_arrow()
    except pa.ArrowException as error:  # Int128
        raise InputError(
            f"Arrow cannot hold this frame: {error}.", "Drop or cast the column."
        ) from error


def of_polars(data: object) -> bool:
    """Return whether an object is of Polars, without importing it."""
    return type(data).__module__.startswith("polars.")


class ArrowStream(Protocol):
    """Any table that offers its data to Arrow: pyarrow, Polars, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the data as an Arrow stream."""
        ...


Data: TypeAlias = Union[
    "pd.DataFrame",
    "pd.Series[Any]",
    "pl.DataFrame",
    "pl.LazyFrame",
    "pl.Series",
    pa.Table,
    ArrowStream,
    Sequence[str | None],
    "np.ndarray[Any, Any]",
    "pd.Index[Any]",
    "pd.api.extensions.ExtensionArray",
    pa.Array,
    pa.ChunkedArray,
    str,
    PathLike[str],
]


@dataclass(frozen=True)
class Source:
    """The table of a job.

    Attributes:
        reader: reads the table.
        path: its file or object, as the user gave it; None for a table in memory.
        files: the formats of the input and output files; None unless both are files.
        frame: the data frame; the reader sees only its text columns.
        version: the version of the object that was read; None for others.
        polars: the kind of Polars frame that the table was; None for others.
    """

    reader: Reader
    path: AnyPath | None = None
    files: Files | None = None
    frame: pd.DataFrame | None = None
    version: str | None = None
    polars: Literal["eager", "lazy"] | None = None

    @property
    def name(self) -> str:
        """What people call the table: its path, or that it came through standard input."""
        return "standard input" if str(self.path or "-") == "-" else str(self.path)

    @property
    def left_out(self) -> str:
        """What of the input file is not in the output, in words; "" if all is."""
        files = self.files
        if files is None or files.output_format == files.input_format:
            return ""
        return self.reader.beside_values

    @property
    def names(self) -> Sequence[str]:
        """The names in the table that new columns must not repeat."""
        if self.frame is None:
            names: list[str] = self.reader.schema.names
            return names
        from pipeline.classification.pandas_frames import frame_names

        return frame_names(self.frame)

    def sample(self) -> pa.RecordBatch:
        """Return the first rows with all columns that may hold text."""
        if self.frame is None:
            return first_rows(self.reader)
        from pipeline.classification.pandas_frames import frame_sample

        return frame_sample(self.frame)

    def identity(self, settings: Settings, output: AnyPath | None) -> str:
        """Return the job's identity in the ledger, by which the same command continues it.

        It consists of the input and output paths or, for a table in memory, of its texts.
        """
        if self.path is None:
            return identity_of_contents(settings, self.reader.batches())
        return identity_of_files(settings, self.path, output)


def given_path(data: str | PathLike[str]) -> AnyPath:
    """Return the path of a table.

    Raises:
        InputError: it looks like a text to classify.
        SettingsError: see `as_path`.
    """
    if isinstance(data, str) and _is_no_path(data):
        raise InputError(
            f"{cut(data)} is not the path of a table, and a string must be one.",
            "To classify a text, put it in a list: pipeline.classify([text]). For a folder, call "
            "pipeline.classify_files.",
        )
    return as_path(data)


def _is_no_path(text: str) -> bool:
    """Return whether a string looks like a text to classify: no file, no address, no suffix."""
    if not text or "://" in text or isfile(text):  # noqa: PTH113 - a text may be too long for a `Path`
        return False
    return not Path(text).suffix.strip(".").isalnum()


def in_memory(data: Any, settings: Settings) -> Source:
    """Return the table of a frame, of texts, or of anything that speaks to Arrow.

    Raises:
        SettingsError: the data is not a table.
        InputError: it lacks a text column.
    """
    import pandas as pd

    from pipeline.classification.pandas_frames import frame_sample, frame_texts

    if isinstance(data, pd.Series):
        data = data.to_frame(_only_column(settings))
    if isinstance(data, pd.DataFrame):
        with suggesting(lambda: frame_sample(data)):
            reader = ArrowReader(frame_texts(data, settings), settings.text_columns)
        return Source(reader, frame=data)
    table = _table(data, settings)
    with suggesting(lambda: first_rows(ArrowReader(table, ()))):
        reader = ArrowReader(table, settings.text_columns)
    kind: Literal["eager", "lazy"] = "lazy" if type(data).__name__ == "LazyFrame" else "eager"
    return Source(reader, polars=kind if of_polars(data) else None)


def _table(data: Any, settings: Settings) -> pa.Table:
    """Return texts without a column, or anything that speaks to Arrow, as a table."""
    data = from_polars(data, lambda: _only_column(settings))
    if isinstance(data, pa.Table):
        return data
    if (texts := _texts_in(data)) is not None:
        return pa.table({_only_column(settings): text_array(texts)})
    return read_stream(data)


def _only_column(settings: Settings) -> str:
    """Return the name of the column for texts that come without one.

    Raises:
        SettingsError: several text columns are named.
    """
    if len(settings.text_columns) > 1:
        raise SettingsError(
            f"The data has one column, and text_columns names {len(settings.text_columns)}.",
            "Pass a frame with these columns, or name one.",
        )
    return settings.text_columns[0]


def _texts_in(data: object) -> list[Any] | None:
    """Return the values of a list or of an array with one dimension; None for anything else."""
    import numpy as np
    import pandas as pd

    match data:
        case list() | tuple() | pd.Index() | pd.api.extensions.ExtensionArray():
            return [*data]
        case np.ndarray() if data.ndim == 1:
            return [*data]
        case pa.Array() | pa.ChunkedArray() if not pa.types.is_struct(data.type):
            return [*data.to_pylist()]
    return None


def text_array(values: Sequence[Any]) -> pa.Array:
    """Return texts as an array; None, NaN and NaT are null, as in a frame.

    Raises:
        SettingsError: one of the values is something else.
    """
    import pandas as pd  # it is slow to import, and file-to-file jobs do not need it

    texts: list[Any] = []
    for index, value in enumerate(values):
        if isinstance(value, str) or value is None:
            texts.append(value)
        elif pd.api.types.is_scalar(value) and pd.isna(value):
            texts.append(None)
        else:
            kind = type(value).__qualname__
            raise SettingsError(
                f"data is a list whose item {index} is of the type {kind}, not a text.", MAY_BE
            )
    present = iter(encodable([text for text in texts if text is not None]))
    return pa.array([None if text is None else next(present) for text in texts], pa.string())
