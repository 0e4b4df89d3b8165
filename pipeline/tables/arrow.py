"""Reads and writes Arrow tables in memory, in batches of bounded size with the text of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.tables.table import BATCH_ROWS, Batch, NewColumn, Reader
from pipeline.tables.texts import TextColumn, find_cell_texts, join_parts, join_texts
from pipeline.wording import TEXT_COLUMN, cut, option, quoted

STRINGS = (pa.string(), pa.large_string(), pa.string_view())


def find_text_columns(
    schema: pa.Schema, text_columns: Sequence[str], table: Path | str
) -> list[TextColumn]:
    """Return the text columns. A list, also on the way to a field, stands for all its items.

    Bytes may be text: older Parquet writers do not mark text columns.

    Raises:
        InputError: a column is missing, exists twice, or holds no text.
    """
    plain = [field.name for field in schema if is_text(field.type)]
    nested = {column.name: column for column in _nested_fields(schema)}
    columns = [TextColumn(index, name) for index, name in enumerate(schema.names)]
    columns += [column for name, column in nested.items() if name not in schema.names]
    columns_found = [
        replace(each, place=columns[each.place].place, within=columns[each.place].within)
        for each in find_cell_texts([each.name for each in columns], text_columns, table, plain)
    ]
    for column in columns_found:
        kind = schema.field(column.place).type
        if not (column.within or _has_text(_without_lists(kind))):
            within = [name for name, each in nested.items() if each.place == column.place]
            raise InputError(
                f"The column {quoted(column.name)} has the type {cut(str(kind))}, not text.",
                f"Name a field in it with a dot: {option('text_columns', repr(within[0]))}."
                if within
                else f"Choose a column with text: {TEXT_COLUMN}.",
            )
    return columns_found


def _text_values(batch: pa.RecordBatch, column: TextColumn) -> Sequence[str | None]:
    """Return a text column's values; the items of a list are joined.

    Raises:
        UnicodeDecodeError: a text is not UTF-8.
        pyarrow.ArrowInvalid: bytes are not UTF-8, or a time zone is unknown.
    """
    values = batch.column(column.place)
    if column.path:
        return [column.of(text) for text in column_texts(values)]
    if not column.within and _without_lists(values.type) == values.type:
        return column_texts(values)
    import pyarrow.compute as pc  # few tables need it, and it takes a tenth of a start

    rows: Sequence[int] = range(len(values))
    fields = list(column.within)
    while fields or _without_lists(values.type) != values.type:
        if isinstance(values.type, pa.BaseExtensionType):
            values = values.storage
        elif _is_list(values.type):
            lengths = pc.list_value_length(values).fill_null(0).to_pylist()
            rows = [row for row, length in zip(rows, lengths, strict=True) for _ in range(length)]
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
    texts: list[str | None] = column.cast(pa.string()).to_pylist()
    if pa.types.is_floating(_value_type(column.type)):
        return [None if text == "nan" else text for text in texts]
    return texts


def _nested_fields(schema: pa.Schema) -> Iterator[TextColumn]:
    """Yield the fields with text in the nested columns of a table, strings before numbers."""
    for index, field in enumerate(schema):
        text_fields = [nested for nested in _fields(field.type) if _has_text(nested[2])]
        for name, fields, _ in sorted(
            text_fields, key=lambda nested: not pa.types.is_string(nested[2])
        ):
            yield TextColumn(index, f"{field.name}.{name}", within=fields)


def _fields(kind: pa.DataType) -> Iterator[tuple[str, tuple[int, ...], pa.DataType]]:
    """Yield the name, the positions and the type of each innermost field of a type."""
    kind = _without_lists(kind)
    if not pa.types.is_struct(kind):
        return
    for index in range(kind.num_fields):
        field = kind.field(index)
        inner = _without_lists(field.type)
        if not pa.types.is_struct(inner):
            yield field.name, (index,), inner
        for name, fields, leaf in _fields(inner):
            yield f"{field.name}.{name}", (index, *fields), leaf


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
    return (kind.value_type if pa.types.is_dictionary(kind) else kind) in STRINGS


def _has_text(kind: pa.DataType) -> bool:
    try:
        pa.nulls(1, kind).cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return not pa.types.is_fixed_size_binary(_value_type(kind))


def _value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values in an extension type or a dictionary."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def labels(batch: pa.RecordBatch, index: int, argument: str) -> list[str]:
    """Return a column's values as stripped text; "" for null.

    Raises:
        InputError: the column has neither text nor whole numbers.
    """
    column = batch.column(index)
    try:
        if pa.types.is_floating(column.type):  # as pandas has whole numbers with gaps
            import pyarrow.compute as pc  # few tables need it, and it takes a tenth of a start

            column = pc.if_else(pc.is_nan(column), None, column).cast(pa.int64())
        texts = [(text or "").strip() for text in column_texts(column)]
    except (UnicodeDecodeError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"The column {quoted(batch.schema.names[index])} has the type "
            f"{cut(str(column.type))}, not text or whole numbers.",
            f"Choose another column: {option(argument, 'NAME')}.",
        ) from error
    if pa.types.is_integer(column.type):
        # The leading zero of a CPV code: no other system's code has seven digits.
        return [f"0{text}" if len(text) == 7 else text for text in texts]
    return texts


@dataclass(frozen=True, slots=True)
class ArrowBatch:
    """Rows of an Arrow table, with the text of each, and the number of the first one."""

    texts: Sequence[str]
    batch: pa.RecordBatch
    first: int = 1

    @property
    def numbers(self) -> Sequence[int]:
        """The number of each row, from 1."""
        return range(self.first, self.first + len(self.texts))

    def to_arrow(self) -> pa.RecordBatch:
        """Return the rows' original columns."""
        return self.batch


def with_texts(
    batches: Iterator[pa.RecordBatch], columns: Sequence[TextColumn]
) -> Iterator[ArrowBatch]:
    """Yield batches with the text of each row.

    Raises:
        InputError: a value in a text column is not text.
    """
    row = 1
    for batch in batches:
        yield ArrowBatch(_texts(batch, columns, row), batch, row)
        row += batch.num_rows


def _texts(batch: pa.RecordBatch, columns: Sequence[TextColumn], row: int) -> list[str]:
    """Return the text of every row of a batch that begins at a row; all "" without columns."""
    if not columns:
        return [""] * batch.num_rows
    texts = []
    for column in columns:
        try:
            texts.append(_text_values(batch, column))
        except (UnicodeDecodeError, pa.ArrowInvalid) as error:
            name, reason = quoted(column.name), str(error).splitlines()[0].rstrip(".")
            raise InputError(
                f"The column {name} has a value that is not UTF-8 text, "
                f"in one of the rows {row:,} to {row + batch.num_rows - 1:,}: {reason}.",
                f"Fix the table, or choose another column: {TEXT_COLUMN}.",
            ) from error
    return [join_texts(values) for values in zip(*texts, strict=True)]


class ArrowReader(Reader):
    """A table in memory."""

    def __init__(self, table: pa.Table, text_columns: Sequence[str]) -> None:
        self._table = table
        self.schema = table.schema
        self._text_columns = find_text_columns(table.schema, text_columns, "The table")

    def batches(self, limit: int | None = None) -> Iterator[ArrowBatch]:
        """Read the table from its beginning; see `Reader.batches`."""
        yield from with_texts(self._chunks(self._table.slice(0, limit)), self._text_columns)

    def _chunks(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        for start in range(0, table.num_rows, BATCH_ROWS):
            # A table concatenated from many small ones has many small chunks.
            yield from table.slice(start, BATCH_ROWS).combine_chunks().to_batches()


class ArrowWriter:
    """Collects a table in memory.

    Attributes:
        table: the whole table, after `close`.
    """

    def __init__(self, schema: pa.Schema, new_fields: Sequence[pa.Field]) -> None:
        self.replaced_characters = 0
        self._schema = with_columns(schema, new_fields)
        self._batches: list[pa.RecordBatch] = []
        # Schema.empty_table() fails for unions and for extension types within structs.
        self.table: pa.Table = pa.Table.from_batches([], schema=self._schema)

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Keep the batch's original columns followed by the new ones."""
        self._batches.append(appended(batch, columns, self._schema))

    def close(self, metadata: dict[str, str]) -> None:
        """Build the table."""
        table = pa.Table.from_batches(self._batches, schema=self._schema)
        entries = with_metadata(self._schema.metadata, metadata)
        self.table = table.replace_schema_metadata(entries or None)

    def abort(self) -> None:
        """Drop the rows."""
        self._batches.clear()


def with_columns(schema: pa.Schema, new_fields: Sequence[pa.Field]) -> pa.Schema:
    """Return the schema followed by more columns, with its metadata."""
    return pa.schema([*schema, *new_fields], metadata=schema.metadata)


def with_metadata(old: Mapping[bytes, bytes] | None, new: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return a schema's metadata updated with new entries."""
    return {**(old or {}), **{name.encode(): value.encode() for name, value in new.items()}}


def appended(batch: Batch, columns: Sequence[NewColumn], schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch's columns followed by new ones."""
    new = [pa.array(column.values, type=column.type) for column in columns]
    return pa.RecordBatch.from_arrays([*batch.to_arrow().columns, *new], schema=schema)
