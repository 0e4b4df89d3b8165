"""Pandas frames: only their text columns go through Arrow, so that others cannot change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
from pandas.api.types import is_scalar

from pipeline.classification.columns import new_fields
from pipeline.errors import InputError
from pipeline.money import plain
from pipeline.settings import Settings
from pipeline.tables.arrow import ArrowReader
from pipeline.tables.table import ARROW_USD, BATCH_ROWS
from pipeline.tables.texts import encodable, find_columns, holders
from pipeline.wording import cut

NO_COPY_ON_WRITE = int(pd.__version__.partition(".")[0]) < 3
"""Whether rows of a frame change with it: since pandas 3, they are copied when one of them does."""


def frame_texts(frame: pd.DataFrame, settings: Settings) -> pa.Table:
    """Return the text columns of a frame.

    Raises:
        InputError: it lacks a text column, or one holds values that are not text.
    """
    names = [*map(str, frame.columns)]
    return _columns(frame, holders(names, settings.text_columns))


def frame_sample(frame: pd.DataFrame) -> pa.RecordBatch:
    """Return the first rows of a frame, with the columns that Arrow can hold."""
    first = frame.head(BATCH_ROWS)
    columns: dict[str, pa.Array] = {}
    for position, label in enumerate(first.columns):
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            column = pa.array(first.iloc[:, position], from_pandas=True)
            if isinstance(column, pa.Array):
                columns[str(label)] = column
    return pa.RecordBatch.from_arrays([*columns.values()], encodable([*columns]))


def copied_rows(frame: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return the first rows of a frame, which its later change does not reach."""
    return frame.head(count).copy(deep=NO_COPY_ON_WRITE)


def frame_to_arrow(frame: pd.DataFrame) -> pa.Table:
    """Return all columns of a frame as a table.

    Raises:
        InputError: the frame has columns that Arrow cannot hold.
    """
    try:
        return pa.Table.from_pandas(frame, preserve_index=None)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        is_arrow = isinstance(error, pa.ArrowException)
        reason = ". ".join(map(str, error.args)) if is_arrow else str(error)
        raise InputError(
            f"Arrow cannot hold this frame: {reason.rstrip('.')}.",
            "Use result.to_pandas(), which keeps all columns of the frame.",
        ) from error


def with_new_columns(frame: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return a frame, with its index and dtypes, followed by the columns of another one."""
    # Number the columns, so that pandas does not try to reconcile two kinds of labels.
    parts = [frame.set_axis(range(frame.shape[1]), axis=1), new.set_index(frame.index)]
    enriched = pd.concat(parts, axis=1)
    enriched.columns = _labels(frame.columns, list(new.columns))
    enriched.attrs = frame.attrs
    return enriched


def frame_reader(
    frame: pd.DataFrame, text_columns: Sequence[str], more: Sequence[str] = ()
) -> ArrowReader:
    """Return a reader of the text columns and some more columns of a labelled frame.

    Raises:
        InputError: it lacks a column, or one holds values that are not text or numbers.
    """
    texts = holders([*map(str, frame.columns)], text_columns)
    return ArrowReader(_columns(frame, [*texts, *more]), text_columns)


def _columns(frame: pd.DataFrame, wanted: Sequence[str]) -> pa.Table:
    names = [str(name) for name in frame.columns]
    for name in wanted:
        if name in frame.index.names and name not in names:
            raise InputError(
                f"{cut(repr(name))} is in the index of the frame, and is none of its columns.",
                "Make it a column: frame.reset_index().",
            )
    positions = find_columns(names, [*dict.fromkeys(wanted)], "The frame")
    return pa.table({names[at]: _text_array(frame.iloc[:, at]) for at in positions})


def _labels(columns: pd.Index[Any], names: Sequence[str]) -> pd.Index[Any]:
    """Append the new names to column labels, padded to the same number of levels."""
    if isinstance(columns, pd.MultiIndex):
        levels_below = [""] * (columns.nlevels - 1)
        padded = [(name, *levels_below) for name in names]
        return columns.append(pd.MultiIndex.from_tuples(padded, names=columns.names))
    if columns.dtype == object:  # append would turn a label None into NaN
        return pd.Index([*columns, *names], dtype=object, name=columns.name)
    return columns.append(pd.Index(names, name=columns.name))


def frame_names(frame: pd.DataFrame) -> list[str]:
    """Return the names in a frame that the new columns must not repeat."""
    padded = [
        label[0]
        for label in frame.columns
        if isinstance(label, tuple) and not any(part != "" for part in label[1:])
    ]
    return [str(name) for name in (*frame.columns, *padded, *frame.index.names)]


def _text_array(column: pd.Series[Any]) -> pa.Array:
    try:
        try:
            return pa.array(column, from_pandas=True)
        except UnicodeEncodeError:
            return pa.array(column.map(_encodable), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"The column {column.name!r} holds values that are not text{_first_other(column)}.",
            "Convert the column, which keeps empty cells empty: "
            "frame[name] = frame[name].astype(object).astype('string').",
        ) from error


def _first_other(column: pd.Series[Any]) -> str:
    """Name the first value that is neither text nor missing, and its row."""
    for label, value in column.items():
        if not isinstance(value, str) and not (is_scalar(value) and pd.isna(value)):
            return f", such as {cut(repr(value))} in the row {cut(repr(label))}"
    return ""


def _encodable(value: object) -> object:
    """Replace lone surrogates in a text, because no encoding can represent them."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


TEXT = pd.StringDtype("pyarrow")


def restore_types(table: pa.Table, settings: Settings) -> pa.Table:
    """Return the new columns of an enriched table, as they were before a text file made them text.

    Costs and lists of matches stay text.
    """
    return pa.table(
        {field.name: _restore_type(table[field.name], field) for field in new_fields(settings)}
    )


def new_columns_of(table: pa.Table, settings: Settings, exact_costs: bool = False) -> pd.DataFrame:
    """Return the new columns of an enriched table as a frame.

    In a table that was read from a text file, the new columns are text. Costs are floats unless
    they must be exact.
    """
    new, fields = restore_types(table, settings), new_fields(settings)
    return pd.DataFrame(
        {field.name: _column(new[field.name], field, exact_costs) for field in fields}
    )


def _restore_type(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        import pyarrow.compute as pc  # few tables need it, and it takes a tenth of a start

        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    return column.cast(field.type) if pa.types.is_floating(field.type) else column


def _column(column: pa.ChunkedArray, field: pa.Field, exact_costs: bool) -> Any:
    if field.name.endswith("_status"):
        return pd.Categorical(column.to_pandas())
    if field.type == ARROW_USD:
        shortest: Callable[[Any], Any] = _exact if exact_costs else float
        costs = column.to_pandas().map(shortest, na_action="ignore")
        return costs.astype(object if exact_costs else float)
    if pa.types.is_string(field.type):
        return column.to_pandas(types_mapper={pa.string(): TEXT}.get)
    if pa.types.is_list(column.type):  # as lists, which JSON knows; pandas would make arrays
        return column.to_pandas().map(list, na_action="ignore")
    return column.to_pandas()


def _exact(usd: Any) -> Decimal:
    """Drop the trailing zeros of Arrow's 24 decimal places, which would show 0 as 0E-24."""
    return Decimal(plain(usd)) if isinstance(usd, Decimal) else Decimal(str(usd))
