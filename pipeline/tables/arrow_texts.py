"""Reads the columns of an Arrow table as text; text columns may be fields of nested ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.quoting import cut, quoted
from pipeline.tables.cells import is_binary, without_encoding
from pipeline.tables.json_cells import CellText, check_found, find_cell_texts
from pipeline.tables.texts import join_parts

__all__ = [
    "TextColumn",
    "check_fields",
    "column_texts",
    "find_text_columns",
    "is_text",
    "labels",
    "text_values",
]


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column with text, or a field of a nested one.

    Attributes:
        name: its name; that of a field has dots, such as ``tender.title``.
        place: the position of the column in the table.
        fields: the positions of the field and of those around it, from the outside.
        json: where its text is in the JSON of the column; None if the column holds no JSON.
    """

    name: str
    place: int
    fields: tuple[int, ...] = ()
    json: CellText | None = None


def find_text_columns(
    schema: pa.Schema, wanted: Sequence[str], table: Path | str
) -> list[TextColumn]:
    """Return the text columns. A list, also on the way to a field, stands for all its items.

    Bytes may be text: older Parquet writers do not mark text columns.

    Raises:
        InputError: a column is missing, exists twice, or holds no text.
    """
    columns = [TextColumn(name, place) for place, name in enumerate(schema.names)]
    nested = {column.name: column for column in _nested(schema)}
    columns += [column for name, column in nested.items() if name not in schema.names]
    names = [column.name for column in columns]
    plain = [field.name for field in schema if is_text(field.type)]
    found = [
        replace(columns[each.place], json=each if each.path else None)
        for each in find_cell_texts(names, wanted, table, plain)
    ]
    for column in found:
        kind = schema.field(column.place).type
        if not (column.fields or _has_text(_without_lists(kind))):
            within = [name for name, each in nested.items() if each.place == column.place]
            raise InputError(
                f"The column {quoted(column.name)} has the type {cut(str(kind))}, not text.",
                f"Name a field in it with a dot: --text-column {within[0]!r}."
                if within
                else "Choose a column with text: --text-column NAME.",
            )
    return found


def check_fields(columns: Sequence[TextColumn], names: Sequence[str], table: Path | str) -> None:
    """Refuse a field of JSON that no row of a table had; see `check_found`."""
    cells = [column.json for column in columns if column.json]
    check_found(cells, names, [column.name for column in columns], table)


def text_values(batch: pa.RecordBatch, column: TextColumn) -> Sequence[str | None]:
    """Return a text column's values; the items of a list are joined.

    Raises:
        UnicodeDecodeError: a text is not UTF-8.
        pyarrow.ArrowInvalid: bytes are not UTF-8, or a time zone is unknown.
    """
    values = batch.column(column.place)
    if column.json:
        return [column.json.of(text) for text in column_texts(values)]
    if not column.fields and _without_lists(values.type) == values.type:
        return column_texts(values)
    import pyarrow.compute as pc  # few tables need it, and it takes a tenth of a start

    rows: Sequence[int] = range(len(values))
    fields = list(column.fields)
    while fields or _without_lists(values.type) != values.type:
        if isinstance(values.type, pa.BaseExtensionType):
            values = values.storage
        elif _is_list(values.type):
            lengths = pc.list_value_length(values).fill_null(0).to_pylist()
            rows = [row for row, each in zip(rows, lengths, strict=True) for _ in range(each)]
            values = pc.list_flatten(values)
        else:
            values = pc.struct_field(values, [fields.pop(0)])
    parts: list[list[str | None]] = [[] for _ in range(batch.num_rows)]
    for row, text in zip(rows, column_texts(values), strict=True):
        parts[row].append(text)
    return [join_parts(texts) for texts in parts]


def column_texts(column: pa.Array) -> list[str | None]:
    """Return a column's values as text, None for null and NaN; bytes are decoded as UTF-8.

    Raises:
        UnicodeDecodeError: a text is not UTF-8.
        pyarrow.ArrowInvalid: bytes are not UTF-8, or a time zone is unknown.
    """
    column = without_encoding(column)
    texts: list[str | None] = column.cast(pa.string()).to_pylist()
    if pa.types.is_floating(column.type):
        return [None if text == "nan" else text for text in texts]
    return texts


def _nested(schema: pa.Schema) -> Iterator[TextColumn]:
    """Yield the fields with text in the nested columns of a table, strings before numbers."""
    for place, field in enumerate(schema):
        found = [each for each in _fields(field.type) if _has_text(each[2])]
        for name, fields, _ in sorted(found, key=lambda each: not pa.types.is_string(each[2])):
            yield TextColumn(f"{field.name}.{name}", place, fields)


def _fields(kind: pa.DataType) -> Iterator[tuple[str, tuple[int, ...], pa.DataType]]:
    """Yield the name, the positions and the type of each innermost field of a type."""
    kind = _without_lists(kind)
    if not pa.types.is_struct(kind):
        return
    for place in range(kind.num_fields):
        field = kind.field(place)
        inner = _without_lists(field.type)
        if not pa.types.is_struct(inner):
            yield field.name, (place,), inner
        for name, fields, leaf in _fields(inner):
            yield f"{field.name}.{name}", (place, *fields), leaf


def _without_lists(kind: pa.DataType) -> pa.DataType:
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif _is_list(kind):
            kind = kind.value_type
        else:
            return kind


def _is_list(kind: pa.DataType) -> bool:
    of_any_length = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    views = pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    return bool(of_any_length or views or pa.types.is_fixed_size_list(kind))


def is_text(kind: pa.DataType) -> bool:
    """Return whether the values of a type are strings, also in a dictionary."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _has_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_text(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return _has_text(kind.storage_type)
    if is_binary(kind):
        return not pa.types.is_fixed_size_binary(kind)
    try:
        column_texts(pa.nulls(1, kind))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def labels(batch: pa.RecordBatch, place: int, option: str) -> list[str]:
    """Return a column's values as stripped text; "" for null.

    Raises:
        InputError: the column has neither text nor whole numbers.
    """
    column = batch.column(place)
    try:
        if pa.types.is_floating(column.type):  # as pandas has whole numbers with gaps
            import pyarrow.compute as pc  # few tables need it, and it takes a tenth of a start

            column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
        texts = [(text or "").strip() for text in column_texts(column)]
    except (UnicodeDecodeError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"The column {quoted(batch.schema.names[place])} has the type "
            f"{cut(str(column.type))}, not text or whole numbers.",
            f"Choose another column: {option} NAME.",
        ) from error
    return [_padded(text) for text in texts] if pa.types.is_integer(column.type) else texts


def _padded(number: str) -> str:
    """Restore the leading zero of a CPV code; no other system's code has seven digits."""
    return f"0{number}" if len(number) == 7 else number
