"""How values of other types are written as text in a CSV cell."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.money import plain
from pipeline.tables.nested import leaves

__all__ = ["arrow_cells", "cell", "is_binary"]

UNSEEN = re.compile(r"[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that command a terminal, break a line or turn the text around: controls, Unicode's
line ends, and what overrides or isolates a direction (Unicode Standard, sections 23.1 and 23.2)."""

FORMULA = re.compile(r"'*[\s\ufeff]*[=+\-@＝＋－＠]")  # noqa: RUF001 - Excel's
"""How a text begins that a spreadsheet would take for a formula, and how such a one begins once
it has an apostrophe: so an apostrophe before a text like these is always ours."""

OUT_OF_RANGE = "<value out of range"
"""What Arrow prints in place of a time that it cannot print begins so."""


def cell(value: Any) -> str:
    """Write one of our own values: decimals in plain notation, lists as JSON, None as nothing.

    In a text of the service each control character becomes a space, and one that a spreadsheet
    would take for a formula gets an apostrophe before it. JSON escapes the controls; it begins
    with a bracket, and a number stays one.
    """
    match value:
        case None:
            return ""
        case str():
            seen = value if value.isprintable() else UNSEEN.sub(" ", value)
            return f"'{seen}" if FORMULA.match(seen) else seen
        case Decimal():
            return plain(value)
        case float():
            return float.__repr__(value)  # NumPy's own is "np.float64(0.5)"
        case _:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            return text if text.isprintable() else UNSEEN.sub(_escaped, text)


def _escaped(unseen: re.Match[str]) -> str:
    return f"\\u{ord(unseen[0]):04x}"


def arrow_cells(column: pa.Array) -> Sequence[str]:
    """Write a column of a Parquet file: numbers as Arrow prints them, dates as ISO 8601.

    Nested values become JSON, bytes base64 and nulls nothing; a value of an extension type is
    written as what it is stored as.

    Raises:
        ValueError: a time, a date or a text that cannot be written.
        OverflowError: a time within a nested value that Python cannot hold.
        LookupError: a time zone that is not known here.
        pyarrow.ArrowException: a type without a text form, or a time zone that is not known here.
    """
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    _check_times(column)
    if pa.types.is_nested(column.type):
        return ["" if value is None else _json(value) for value in column.to_pylist()]
    if is_binary(column.type):
        values = column.to_pylist()
        return ["" if value is None else base64.b64encode(value).decode() for value in values]
    return ["" if value is None else value for value in column.cast(pa.string()).to_pylist()]


def is_binary(kind: pa.DataType) -> bool:
    """Tell whether values of a type are bytes."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _check_times(column: pa.Array) -> None:
    """Refuse times that Arrow and Python would print as another time or as a remark."""
    for leaf in leaves(column):
        kind = leaf.type
        if pa.types.is_timestamp(kind):
            leaf = leaf.cast(pa.timestamp(kind.unit))  # with a zone Arrow prints another year
        elif not (pa.types.is_date(kind) or pa.types.is_time(kind)):
            continue
        if pc.any(pc.starts_with(leaf.cast(pa.string()), OUT_OF_RANGE)).as_py():
            raise ValueError(f"a value of type {kind} is out of range")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_json_scalar)


def _json_scalar(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
