"""Reads CSV, keeping every record's original bytes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.settings import CsvOptions
from pipeline.tables.csv_dialect import Dialect, detect
from pipeline.tables.csv_lines import RECORD_CHARS, read_lines
from pipeline.tables.streams import fingerprint_of
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS
from pipeline.tables.texts import check_names, encodable, find_columns, join_texts

__all__ = ["CsvBatch", "CsvReader"]

LINE_CHARS = 64
"""The memory that a line takes beyond its characters, in characters."""

UNCLOSED = "a quote is opened and never closed"
BLANK = "there are too many blank lines"

REASONS = {
    "unexpected end of data": UNCLOSED,
    "new-line character seen": "a different line break is outside quotes",
    "expected after": "there is text between a closing quote and the next delimiter",
}
"""Parts of the csv module's messages, and clearer ones."""

# By default, the csv module refuses fields over 128 KiB. The limit is process-wide.
csv.field_size_limit(max(csv.field_size_limit(), RECORD_CHARS))


@dataclass(frozen=True, slots=True)
class CsvBatch:
    """Rows of a CSV file.

    Attributes:
        schema: the columns, all text.
        texts: the text of each row.
        fields: the values of each row.
        raw: each row's record as in the file, with blank lines before it.
        trailing: blank lines after the last row of the file.
    """

    schema: pa.Schema
    texts: Sequence[str]
    fields: Sequence[Sequence[str]]
    raw: Sequence[str]
    trailing: str = ""

    def to_arrow(self) -> pa.RecordBatch:
        """Return all columns as text.

        Raises:
            InputError: a value has an unpaired surrogate, which Arrow's text cannot hold.
        """
        columns = list(zip(*self.fields, strict=True)) or [()] * len(self.schema)
        try:
            arrays = [pa.array(column, type=pa.string()) for column in columns]
        except UnicodeEncodeError as error:
            raise InputError(
                f"The table has an unpaired surrogate, U+{ord(error.object[error.start]):04X}, "
                "which only CSV can hold.",
                "Fix the table, or write CSV: --output-format csv.",
            ) from error
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def head(self, rows: int) -> CsvBatch:
        """Return the first rows only."""
        return CsvBatch(self.schema, self.texts[:rows], self.fields[:rows], self.raw[:rows])


class CsvReader:
    """A CSV file.

    Attributes:
        opened_fingerprint: see `Reader.opened_fingerprint`.
        dialect: its dialect.
        header: the record with the column names, as in the file; "" without one.
    """

    def __init__(self, path: Path, text_columns: Sequence[str], options: CsvOptions) -> None:
        self._path = path
        self.opened_fingerprint = fingerprint_of(path)
        self.dialect: Dialect = detect(path, options, text_columns)
        first = next(self._records(), None)
        if first is None or not first[1]:
            raise InputError(
                f"{path} is empty.", "A CSV file needs at least a line with column names."
            )
        self.header = first[0] if self.dialect.header else ""
        count = len(first[1])
        self._names = first[1] if self.dialect.header else [str(i + 1) for i in range(count)]
        check_names(self._names, path)
        self._text_at = find_columns(self._names, text_columns, path)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, all text."""
        return pa.schema([(name, pa.string()) for name in self._names])

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return fingerprint_of(self._path)

    def batches(self) -> Iterator[CsvBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        records = self._records()
        if self.dialect.header:
            next(records, None)
        raws: list[str] = []
        rows: list[list[str]] = []
        chars = 0
        trailing = ""
        for raw, fields, line in records:
            if not fields:
                trailing = raw
                break
            self._check_width(fields, line)
            raws.append(raw)
            rows.append(fields)
            chars += len(raw)
            if len(raws) == BATCH_ROWS or chars >= BATCH_CHARS:
                yield self._batch(raws, rows)
                raws, rows, chars = [], [], 0
        if raws or trailing:
            yield self._batch(raws, rows, trailing)

    def _batch(self, raws: list[str], rows: list[list[str]], trailing: str = "") -> CsvBatch:
        match self._text_at:
            case [place]:  # as `join_texts`, without a list and a call for each row
                texts = [" ".join(row[place].split()) for row in rows]
            case places:
                texts = [join_texts([row[place] for place in places]) for row in rows]
        return CsvBatch(self.schema, encodable(texts), rows, raws, trailing)

    def _records(self) -> Iterator[tuple[str, list[str], int]]:
        """Yield (raw text, fields, number of the last line) of every record.

        Blank lines are part of the next record's raw text; those at the end are one record without
        fields.
        """
        taken: list[str] = []
        size = 0
        begins = 1  # the line on which the next record begins

        def tap() -> Iterator[str]:
            nonlocal size
            for line in read_lines(self._path, self.dialect):
                taken.append(line)
                size += len(line) + LINE_CHARS
                if size > RECORD_CHARS:
                    raise csv.Error(UNCLOSED if any(map(str.strip, taken)) else BLANK)
                yield line

        reader = csv.reader(tap(), **self.dialect.parameters())
        try:
            for fields in reader:
                begins = reader.line_num + 1
                if not _is_blank(fields, taken[-1]):
                    yield taken[0] if len(taken) == 1 else "".join(taken), fields, reader.line_num
                    taken.clear()
                    size = 0
        except csv.Error as error:
            raise self._malformed(error, begins) from error
        if taken:
            yield "".join(taken), [], reader.line_num

    def _check_width(self, fields: list[str], line: int) -> None:
        if len(fields) != len(self._names):
            raise InputError(
                f"{self._path}, line {line}: {len(fields)} fields where "
                f"{len(self._names)} are expected.",
                "Fix the record, or state the dialect: --delimiter, --quote-escape.",
            )

    def _malformed(self, error: csv.Error, line: int) -> InputError:
        said = str(error)
        reason = next((ours for theirs, ours in REASONS.items() if theirs in said), said)
        return InputError(
            f"{self._path}: the record that begins on line {line} is malformed: {reason}.",
            "Fix the record, or state the dialect: --quote-escape, --line-end, --delimiter.",
        )


def _is_blank(fields: list[str], line: str) -> bool:
    """Return whether a line is blank, unlike a record with one quoted empty value."""
    return not fields or (len(fields) == 1 and not fields[0].strip() and '"' not in line)
