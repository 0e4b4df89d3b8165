"""Writes JSON Lines: original records unchanged, values of other tables as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.money import plain
from pipeline.tables.cells import arrow_cells, without_encoding
from pipeline.tables.formats import compression_of, split_suffixes
from pipeline.tables.json_reader import JsonBatch, JsonReader
from pipeline.tables.streams import FileWriter, open_output
from pipeline.tables.table import Batch, NewColumn, Reader

SPACE = b" \t\r\n"

BARE = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_nested,
)
"""The types whose values are JSON already when they are text."""

NO_NUMBERS = ("nan", "inf", "-inf")
"""Floats that JSON does not have; they are written as text."""


class JsonWriter(FileWriter):
    """A JSON Lines file being written.

    Args:
        path: the file to write.
        name: its final name, whose suffix may ask for compression. The items of a list stay in a
            list if it is that of a file for JSON.
        reader: the table; the records of JSON are copied.
    """

    def __init__(self, path: Path, name: str, reader: Reader, *_: object) -> None:
        self._is_json = isinstance(reader, JsonReader)
        self._is_list = isinstance(reader, JsonReader) and reader.in_list
        self._in_list = self._is_list and split_suffixes(Path(name))[1].lower() == ".json"
        self._end = b"[]\n" if self._in_list else b""  # without rows
        with ExitStack() as stack:
            self._stream = stack.enter_context(open_output(path, compression_of(Path(name))))
            self._closing = stack.pop_all()

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original records with the new keys after their own."""
        keys = [json_bytes(column.name) for column in columns]
        values = zip(*(map(json_bytes, column.values) for column in columns), strict=True)
        new = [b", ".join(map(b": ".join, zip(keys, row, strict=True))) for row in values]
        trailing = b""
        if not (self._is_json and isinstance(batch, JsonBatch)):
            records = _records(batch.to_arrow())
        elif self._is_list and not self._in_list:
            records = [_line(record.raw) for record in batch.records]
        else:
            records = [record.before + record.raw for record in batch.records]
            trailing = batch.trailing or b""
            self._end = b"" if batch.trailing is not None else b"\n]\n" if self._in_list else b"\n"
        self._stream.write(b"".join(map(_append, records, new)) + trailing)

    def close(self, metadata: dict[str, str]) -> None:
        """Finish the file; a sample lacks the end of its list or line."""
        self._stream.write(self._end)
        super().close(metadata)


def check(batch: Batch, _rows: int) -> None:
    """Check that a value of a batch is not one that JSON cannot hold.

    Raises:
        InputError: a value cannot be written as text, or as JSON.
    """
    if not isinstance(batch, JsonBatch):
        _records(batch.to_arrow())


def json_bytes(value: Any) -> bytes:
    """Return a value of a new column as JSON; money as text, so that it stays exact."""
    text = json.dumps(value, ensure_ascii=False, default=plain)
    try:
        return text.encode()
    except UnicodeEncodeError:  # an unpaired surrogate
        return json.dumps(value, default=plain).encode()


def _line(record: bytes) -> bytes:
    """Return a record on one line: JSON has no line ends within its strings."""
    return b" ".join(map(bytes.strip, record.splitlines())) + b"\n"


def _append(record: bytes, new: bytes) -> bytes:
    """Insert new members before the brace that ends a record."""
    end = record.rindex(b"}")
    body = record[:end].rstrip(SPACE)
    comma = b"" if body.endswith(b"{") else b", "
    return body + comma + new + record[len(body) :]


def _records(batch: pa.RecordBatch) -> list[bytes]:
    columns = map(_json_values, batch.schema.names, batch.columns)
    return [f"{{{', '.join(row)}}}\n".encode() for row in zip(*columns, strict=True)]


def _json_values(name: str, column: pa.Array) -> list[str]:
    """Return ``"name": value`` for each value of a column."""
    column = without_encoding(column)
    bare = any(is_one(column.type) for is_one in BARE)
    texts = [
        text if bare and text not in NO_NUMBERS else json.dumps(text, ensure_ascii=False)
        for text in arrow_cells(name, column)
    ]
    nulls = column.is_null().to_pylist()
    key = json.dumps(name, ensure_ascii=False)
    return [f"{key}: {'null' if null else text}" for text, null in zip(texts, nulls, strict=True)]


open_reader, open_writer = JsonReader, JsonWriter
