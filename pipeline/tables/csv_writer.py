"""Writes CSV: original CSV records unchanged, values of other tables as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from pipeline.tables.cells import arrow_texts, cell
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.csv_reader import CsvBatch
from pipeline.tables.streams import compression_of, open_output
from pipeline.tables.table import Batch, NewColumn

__all__ = ["CsvWriter"]


class CsvWriter:
    """A CSV file being written.

    Args:
        path: the file to write.
        dialect: its dialect.
        name: its final name, whose suffix may ask for compression.
        header: the first record of a CSV input; None to write the names.
        names: the names of the original columns.
        new_names: the names of the new columns.
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
        self._names = names
        with ExitStack() as stack:
            self._stream = stack.enter_context(open_output(path, compression_of(Path(name))))
            self._stream.write(dialect.mark)
            if dialect.header:
                if header is None:
                    header = self._record(names) + dialect.terminator
                self._append([header], [self._record(new_names)])
            self._closing = stack.pop_all()

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns followed by the new ones."""
        rows = zip(*([cell(value) for value in column.values] for column in columns), strict=True)
        new = [self._record(row) for row in rows]
        if isinstance(batch, CsvBatch):
            self._append(batch.raw, new)
            self._stream.write(batch.trailing.encode(self._dialect.encoding))
        else:
            self._append(self._original(batch.to_arrow()), new)

    def close(self, metadata: dict[str, str]) -> None:  # noqa: ARG002 - CSV cannot hold metadata
        """Finish the file."""
        self._closing.close()

    def abort(self) -> None:
        """Close the file."""
        self._closing.close()

    def _original(self, batch: pa.RecordBatch) -> list[str]:
        columns = [
            arrow_texts(name, column)
            for name, column in zip(self._names, batch.columns, strict=True)
        ]
        end = self._dialect.terminator
        return [self._record(row) + end for row in zip(*columns, strict=True)]

    def _append(self, records: Iterable[str], new: Iterable[str]) -> None:
        """Insert the new cells after each record, before its line end."""
        out: list[bytes] = []
        encoding, delimiter = self._dialect.encoding, self._dialect.delimiter
        for record, cells in zip(records, new, strict=True):
            body = self._without_line_end(record)
            out += [
                body.encode(encoding),
                self._encoded(delimiter + cells),
                record[len(body) :].encode(encoding),
            ]
        self._stream.write(b"".join(out))

    def _without_line_end(self, record: str) -> str:
        body = record.rstrip("\r\n")
        backslashes = len(body) - len(body.rstrip("\\"))
        if self._dialect.backslash and backslashes % 2:
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

    def _record(self, cells: Iterable[str]) -> str:
        # Before Python 3.13, csv quotes only the line breaks in its line terminator.
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\r\n", **self._dialect.parameters()).writerow(cells)
        return buffer.getvalue().removesuffix("\r\n")
