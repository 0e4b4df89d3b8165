"""Writes CSV: original CSV records unchanged, values of other tables as text."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.cache import Cache
from pipeline.money import ZERO
from pipeline.settings import CsvOptions
from pipeline.tables.cells import arrow_cells, cell
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.csv_reader import CsvBatch, CsvReader
from pipeline.tables.formats import compression_of, split_suffixes
from pipeline.tables.streams import open_output
from pipeline.tables.table import Batch, NewColumn, Reader

__all__ = ["CsvWriter", "check", "open_reader", "open_writer"]

TAB_SUFFIXES = (".tsv", ".tab")


def open_reader(path: Path, text_columns: Sequence[str], csv: CsvOptions, *_: object) -> CsvReader:
    """Open a CSV file; see `pipeline.tables.open_reader`."""
    return CsvReader(path, text_columns, csv)


def open_writer(path: Path, name: str, reader: Reader, new_fields: Sequence[pa.Field]) -> CsvWriter:
    """Open a CSV file, with the dialect of the input if that is one too."""
    _, suffix, _ = split_suffixes(Path(name))
    dialect, header = Dialect("\t" if suffix.lower() in TAB_SUFFIXES else ","), None
    if isinstance(reader, CsvReader):
        dialect, header = reader.dialect, reader.header
    new_names = [field.name for field in new_fields]
    return CsvWriter(path, dialect, name, header, reader.schema.names, new_names)


def check(batch: Batch, _rows: int) -> None:
    """Check that the values of a batch can be written as text.

    Raises:
        InputError: one cannot.
    """
    if not isinstance(batch, CsvBatch):
        _original_texts(batch)


class CsvWriter:
    """A CSV file being written.

    The suffix of its final name may ask for compression. The header is the first record of a CSV
    input; None writes the names.
    """

    def __init__(
        self,
        path: Path,
        dialect: Dialect,
        name: str,
        header: str | None,
        names: Sequence[str],
        new_names: Sequence[str],
    ) -> None:
        self.replaced_characters = 0
        self._dialect = dialect
        self._known = Cache(partial(map, cell))
        with ExitStack() as stack:
            self._stream = stack.enter_context(open_output(path, compression_of(Path(name))))
            self._stream.write(dialect.mark)
            if header is None:
                first = self._records([[*names, *new_names]])[0] + dialect.terminator
                self._stream.write(first.encode(dialect.encoding))
            elif dialect.header:
                self._append([header], self._records([new_names]))
            self._closing = stack.pop_all()

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns followed by the new ones."""
        values = (column.values for column in columns)
        new = self._records(zip(*map(self._texts, values), strict=True))
        if isinstance(batch, CsvBatch):
            self._append(batch.raw, new)
            self._stream.write(batch.trailing.encode(self._dialect.encoding))
        else:
            original = self._records(zip(*_original_texts(batch), strict=True))
            self._append([record + self._dialect.terminator for record in original], new)

    def close(self, metadata: dict[str, str]) -> None:  # noqa: ARG002 - CSV cannot hold metadata
        """Finish the file."""
        self._closing.close()

    def abort(self) -> None:
        """Close the file."""
        self._closing.close()

    def _texts(self, values: Sequence[Any]) -> list[str]:
        """Format the values of a new column; codes, titles, statuses and the cost 0 repeat."""
        kinds = {*map(type, values)}
        if kinds == {float}:
            return [*map(float.__repr__, values)]
        if kinds == {Decimal}:
            return ["0" if value is ZERO else cell(value) for value in values]
        if kinds <= {str, type(None)}:
            return self._known([value or "" for value in values])
        return [*map(cell, values)]

    def _append(self, records: Sequence[str], new: Iterable[str]) -> None:
        """Insert the new cells after each record, before its line end."""
        delimiter, encoding = self._dialect.delimiter, self._dialect.encoding
        rows = [
            (body, cells, record[len(body) :])
            for record, body, cells in zip(records, self._bodies(records), new, strict=True)
        ]
        try:
            lines = [f"{body}{delimiter}{cells}{end}" for body, cells, end in rows]
            encoded = "".join(lines).encode(encoding)
        except UnicodeEncodeError:  # only new cells can have characters that the encoding lacks
            encoded = b"".join(
                f"{body}{delimiter}".encode(encoding) + self._encoded(cells) + end.encode(encoding)
                for body, cells, end in rows
            )
        self._stream.write(encoded)

    def _bodies(self, records: Sequence[str]) -> list[str]:
        """Return records without their line ends."""
        if self._dialect.quote_escape == "backslash":
            return [*map(self._body, records)]
        return [record.rstrip("\r\n") for record in records]

    def _body(self, record: str) -> str:
        body = record.rstrip("\r\n")
        if (len(body) - len(body.rstrip("\\"))) % 2:
            return record[: len(body) + 1]  # an escaped carriage return belongs to the last field
        return body

    def _encoded(self, cells: str) -> bytes:
        try:
            return cells.encode(self._dialect.encoding)
        except UnicodeEncodeError:
            encoded = cells.encode(self._dialect.encoding, errors="replace")
            kept = encoded.decode(self._dialect.encoding)
            self.replaced_characters += sum(a != b for a, b in zip(cells, kept, strict=True))
            return encoded

    def _records(self, rows: Iterable[Sequence[str]]) -> list[str]:
        """Return records without line ends."""
        lines = _Lines()
        if self._dialect.quote_escape == "none":
            spaces = str.maketrans(dict.fromkeys(f"{self._dialect.delimiter}\r\n", " "))
            rows = [[each.translate(spaces) for each in row] for row in rows]
        # Before Python 3.13, csv quotes only the line breaks in its line terminator.
        writer = csv.writer(lines, lineterminator="\r\n", **self._dialect.parameters())
        writer.writerows(rows)
        return [line[:-2] for line in lines]


class _Lines(list[str]):
    """Collects the records of a csv writer, which writes each with one call."""

    write = list.append


def _original_texts(batch: Batch) -> list[Sequence[str]]:
    columns = batch.to_arrow()
    both = zip(columns.schema.names, columns.columns, strict=True)
    return [arrow_cells(name, column) for name, column in both]
