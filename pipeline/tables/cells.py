"""What values of all types are: their kinds in tables without types, and their text in cells."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.money import plain
from pipeline.wording import quoted, written_as

Kind: TypeAlias = Literal[
    "null", "bool", "int", "large int", "float", "date", "datetime", "text", "nested"
]
"""What the values of a column are; ``int`` fits in 53 bits, ``large int`` in 64."""

ARROW_TYPES: dict[Kind, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "large int": pa.int64(),
    "float": pa.float64(),
    "date": pa.date32(),
    "datetime": pa.timestamp("ms"),
}
"""The Arrow types of columns by their kinds; others are text."""

BINARY = (pa.binary(), pa.large_binary(), pa.binary_view())

MERGED: dict[frozenset[Kind], Kind] = {
    frozenset(("int", "large int")): "large int",
    frozenset(("int", "float")): "float",
    frozenset(("date", "datetime")): "datetime",
}


def common_kind(one: Kind, other: Kind) -> Kind:
    """Return the kind that holds the values of two kinds unchanged."""
    kinds: frozenset[Kind] = frozenset((one, other)) - {"null"}
    if len(kinds) < 2:
        return next(iter(kinds), "null")
    return "nested" if "nested" in kinds else MERGED.get(kinds, "text")


def without_encoding(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary or an extension type around its values."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def leaves(column: pa.Array) -> Iterator[pa.Array]:
    """Yield the plain arrays of a column's values, in the order of its type.

    Values under a null are left out. Unions are not flattened.
    """
    column = without_encoding(column)
    kind = column.type
    if pa.types.is_struct(kind):
        for child in column.flatten():
            yield from leaves(child)
    elif pa.types.is_map(kind):
        begin, end = column.offsets[0].as_py(), column.offsets[-1].as_py()
        yield from leaves(column.keys[begin:end])
        yield from leaves(column.items[begin:end])
    elif pa.types.is_nested(kind) and hasattr(column, "flatten"):
        yield from leaves(column.flatten())
    else:
        yield column


UNSEEN = re.compile(r"[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that control a terminal, end a line or change the direction of text: controls, Unicode
line ends, and directional overrides and isolates (Unicode Standard, sections 23.1 and 23.2)."""

FORMULA = re.compile(r"'*[\s\ufeff]*[=+\-@＝＋－＠]")  # noqa: RUF001 - Excel's
"""The start of a text that a spreadsheet would run as a formula, with or without apostrophes: so an
apostrophe before such a text was always added here."""

OUT_OF_RANGE = "<value out of range"
"""The start of what Arrow prints for a time that it cannot represent."""


def cell(value: Any) -> str:
    """Format a value of a new column: decimals in plain notation, lists as JSON, None as "".

    In texts from a service, control characters become spaces, and an apostrophe precedes what a
    spreadsheet would run as a formula. JSON needs neither: it escapes control characters and
    begins with a bracket.
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
            return float.__repr__(value)  # NumPy's repr is "np.float64(0.5)"
        case _:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            if text.isprintable():
                return text
            return UNSEEN.sub(lambda unseen: f"\\u{ord(unseen[0]):04x}", text)


def arrow_cells(name: str, column: pa.Array) -> Sequence[str]:
    """Format a column of a Parquet file: numbers as Arrow prints them, dates as ISO 8601.

    Decimals have no exponent, which Arrow gives to small ones. Nested values become JSON, bytes
    become base64, and nulls become "". A value of an extension type is formatted like its storage
    type.

    Raises:
        InputError: a value cannot be written as text; the message has the name of the column.
    """
    try:
        return _format(column)
    except (ValueError, OverflowError, LookupError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"The column {quoted(name)} has a value that cannot be written as text: {reason}.",
            f"Fix the table, or keep its values: {written_as('parquet')}.",
        ) from error


def _format(column: pa.Array) -> Sequence[str]:
    """Format a column.

    Raises:
        ValueError: a time, a date or a text cannot be represented.
        OverflowError: Python cannot represent a time within a nested value.
        LookupError: a time zone is unknown on this machine.
        pyarrow.ArrowException: the type has no text form, or a time zone is unknown.
    """
    column = without_encoding(column)
    _check_times(column)
    if pa.types.is_nested(column.type):
        return ["" if value is None else _json(value) for value in column.to_pylist()]
    if column.type in BINARY or pa.types.is_fixed_size_binary(column.type):
        values = column.to_pylist()
        return ["" if value is None else base64.b64encode(value).decode() for value in values]
    if pa.types.is_decimal(column.type):
        return ["" if value is None else f"{value:f}" for value in column.to_pylist()]
    return ["" if value is None else value for value in column.cast(pa.string()).to_pylist()]


def _check_times(column: pa.Array) -> None:
    """Refuse times that Arrow or Python would print as another time or as a remark."""
    for leaf in leaves(column):
        kind = leaf.type
        if pa.types.is_timestamp(kind):
            leaf = leaf.cast(pa.timestamp(kind.unit))  # with a zone, Arrow prints a wrong year
        elif not (pa.types.is_date(kind) or pa.types.is_time(kind)):
            continue
        import pyarrow.compute as pc  # few tables need it, and it takes a tenth of a start

        if pc.any(pc.starts_with(leaf.cast(pa.string()), OUT_OF_RANGE)).as_py():
            raise ValueError(f"a value of type {kind} is out of range")


def _json(value: Any) -> str:
    """Return a nested value as JSON, which has no NaN."""
    return json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
        default=_json_scalar,
    )


def _json_scalar(value: Any) -> str:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)
