"""Reads what offers its data to Arrow: tables of pyarrow, DuckDB relations, readers and others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.classification.text_lists import MAY_BE
from pipeline.errors import InputError, SettingsError
from pipeline.python_messages import warn_in_python
from pipeline.quoting import readable

__all__ = ["streamed"]

FOR_SPARK = "Call pipeline.spark.classify, or make it a pandas frame: frame.toPandas()."


def streamed(data: Any) -> pa.Table:
    """Return the table that an object offers with Arrow's C stream.

    Raises:
        SettingsError: it has no such stream.
        InputError: Arrow cannot read it.
    """
    of_spark = type(data).__module__.startswith("pyspark.")
    if not hasattr(data, "__arrow_c_stream__"):
        kind = type(data).__qualname__
        hint = FOR_SPARK if of_spark else MAY_BE
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
