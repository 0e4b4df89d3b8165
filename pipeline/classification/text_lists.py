"""Converts lists and arrays of texts, which come without a frame."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import SettingsError
from pipeline.tables.texts import encodable

__all__ = ["MAY_BE", "listed_texts", "texts_in"]

MAY_BE = (
    "data must be a pandas frame or series, a Polars frame, an Arrow table, a list of texts or the "
    "path of a file. pandas.DataFrame(data) makes a frame of a dict or a list of records."
)


def texts_in(data: object) -> list[Any] | None:
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


def listed_texts(values: Sequence[Any]) -> pa.Array:
    """Return texts as an array; None, NaN and NaT are null, as in a frame.

    Raises:
        SettingsError: one of the values is something else, or all are the paths of files.
    """
    import pandas as pd  # it is slow to import, and file-to-file jobs do not need it

    if values and all(map(_is_file, values)):
        raise SettingsError(
            f"data is a list of files, such as {values[0]}, and their names are no texts.",
            "Classify one file at a time: pipeline.classify(path).",
        )
    texts: list[Any] = []
    for place, value in enumerate(values):
        if isinstance(value, str) or value is None:
            texts.append(value)
        elif pd.api.types.is_scalar(value) and pd.isna(value):
            texts.append(None)
        else:
            kind = type(value).__qualname__
            raise SettingsError(
                f"data is a list whose item {place} is of the type {kind}, not a text.", MAY_BE
            )
    present = iter(encodable([text for text in texts if text is not None]))
    return pa.array([None if text is None else next(present) for text in texts], pa.string())


def _is_file(value: object) -> bool:
    """Return whether a value is the path of a file, with a suffix."""
    try:
        return isinstance(value, str | PathLike) and bool(
            Path(value).suffix and Path(value).is_file()
        )
    except (OSError, ValueError):  # it is too long, or has a NUL
        return False
