"""The new columns with the dtypes that pandas users expect."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.classification.columns import new_fields
from pipeline.classification.frames import PandasFrame
from pipeline.money import plain
from pipeline.settings import Settings
from pipeline.tables.table import ARROW_USD

__all__ = ["frame_of", "new_columns_of", "restored"]

TEXT = pd.StringDtype("pyarrow")


def restored(table: pa.Table, settings: Settings) -> pa.Table:
    """Return the new columns of an enriched table, as they were before a text file made them text.

    Costs and lists of matches stay text.
    """
    return pa.table(
        {field.name: _restored(table[field.name], field) for field in new_fields(settings)}
    )


def frame_of(table: pa.Table, settings: Settings, exact_costs: bool = False) -> pd.DataFrame:
    """Return an enriched table as a frame; see `new_columns_of`."""
    ours = {field.name for field in new_fields(settings)}
    rest = [place for place, name in enumerate(table.column_names) if name not in ours]
    new = new_columns_of(table, settings, exact_costs)
    return PandasFrame(table.select(rest).to_pandas()).with_columns(new)


def new_columns_of(table: pa.Table, settings: Settings, exact_costs: bool = False) -> pd.DataFrame:
    """Return the new columns of an enriched table as a frame.

    In a table that was read from a text file, the new columns are text. Costs are floats unless
    they must be exact.
    """
    new, fields = restored(table, settings), new_fields(settings)
    return pd.DataFrame(
        {field.name: _column(new[field.name], field, exact_costs) for field in fields}
    )


def _restored(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
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
