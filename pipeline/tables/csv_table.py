"""Reads and writes CSV: records of CSV keep their original bytes, other tables become text."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.settings import CsvOptions
from pipeline.tables.cells import arrow_cells, cell
from pipeline.tables.csv_dialect import DELIMITERS, Dialect, detect
from pipeline.tables.csv_records import FIX_THE_RECORD, Record, read_records
from pipeline.tables.formats import compression_of, split_suffixes
from pipeline.tables.streams import FileReader, FileWriter, open_output
from pipeline.tables.table import Batch, NewColumn, Reader, in_batches
from pipeline.tables.texts import find_cell_texts, has_all, join_texts
from pipeline.wording import LONGEST, csv_option, how_many, marked, quoted

log = logging.getLogger(__name__)

NUMBER = re.compile(r"\s*[-+]?\d[\d.,:/-]*\s*")
"""A number, a date or a time."""

NO_HEADER = (
    f"If these are values of a row, use {csv_option('header', False)}: the columns are then 1, 2, "
    "..."
)

ONE_NAME = (
    f"If there are more columns, state what separates them: {csv_option('delimiter')}. {NO_HEADER}"
)
ONE_COLUMN = (
    "If the table has one column, name a delimiter that no text has: "
    f"{csv_option('delimiter', 'tab')}."
)

UNNAMED = (
    "the rows have one delimiter more than the header, so the last column has no name and is empty."
)

TITLES = 20
"""Records among which column names are looked for, as below titles."""


@dataclass(frozen=True, slots=True)
class CsvBatch:
    """Rows of a CSV file.

    Attributes:
        schema: the columns, all text.
        texts: the text of each row.
        records: the rows.
        trailing: blank lines after the last row of the file.
    """

    schema: pa.Schema
    texts: Sequence[str]
    records: Sequence[Record]
    trailing: str = ""

    @property
    def numbers(self) -> Sequence[int]:
        """The number of each row as a spreadsheet counts, also blank lines."""
        return [record.number for record in self.records]

    def to_arrow(self) -> pa.RecordBatch:
        """Return all columns as text."""
        rows = (record.fields for record in self.records)
        columns = list(zip(*rows, strict=True)) or [()] * len(self.schema)
        arrays = [pa.array(column, type=pa.string()) for column in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class CsvReader(FileReader):
    """A CSV file.

    Attributes:
        dialect: its dialect.
        header: the record with the column names, as in the file; "" without one.
    """

    def __init__(
        self, path: Path, text_columns: Sequence[str], options: CsvOptions, *_: object
    ) -> None:
        super().__init__(path)
        self.dialect: Dialect = detect(path, options, text_columns)
        names = self._read_header()
        line, is_below_title = 0, False
        if options.header and options.header_row is None and not has_all(names, text_columns):
            line, is_below_title = self._header_below(options, text_columns)
        if is_below_title:
            self.dialect = detect(path, replace(options, header_row=line), text_columns)
            names = self._read_header()
        self._names = names if options.header else [str(i + 1) for i in range(len(names))]
        try:
            self._text_in = find_cell_texts(self._names, text_columns, path)
        except InputError as error:
            if line:
                error.hint = (
                    f"The column names seem to be in line {line}. If so, name it: "
                    f"{csv_option('header_row', line)}."
                )
            elif options.header and _is_row(names):
                hint = marked(error.hint)
                hints = (hint, NO_HEADER) if len(names) > 1 else (ONE_NAME, hint)
                error.hint = " ".join(hints)
            raise
        if self.dialect.unnamed:
            log.warning("%s: %s", path, UNNAMED)
        self.schema = pa.schema([(name, pa.string()) for name in self._names])

    def batches(self, limit: int | None = None) -> Iterator[CsvBatch]:
        """Read the file from its beginning; see `Reader.batches`."""
        every = read_records(self.path, self.dialect)
        if self.dialect.header:
            next(every, None)
        cells = self._text_in
        for records in in_batches(islice(every, limit), lambda each: len(each.raw)):
            trailing = "" if records[-1].fields else records.pop().raw
            self._check(records)
            rows = (each.fields for each in records)
            texts = [join_texts([each.of(row[each.place]) for each in cells]) for row in rows]
            yield CsvBatch(self.schema, texts, records, trailing)

    def _read_header(self) -> list[str]:
        """Return the cells of the first record, and keep the record if it names the columns.

        If the rows end with one more delimiter, so do the names from here on.
        """
        first = next(read_records(self.path, self.dialect), None)
        if first is None or not first.fields:
            raise InputError(
                f"{self.path} is empty.", "A CSV file needs at least a line with column names."
            )
        self.header = first.raw if self.dialect.header else ""
        if not self.dialect.unnamed:
            return first.fields
        content = self.header.rstrip("\r\n")
        self.header = f"{content}{self.dialect.delimiter}{self.header[len(content) :]}"
        return [*first.fields, ""]

    def _header_below(self, options: CsvOptions, text_columns: Sequence[str]) -> tuple[int, bool]:
        """Return the line of the column names below others, 0 if missing; and if those are titles.

        A title has half as many values at most. With more, it may be a row: of a table whose column
        has another name, with a row that is too long. Without the wanted names, it is the line with
        the most names below titles, and above a row as long.
        """
        likely = (0, 0)
        # The delimiter was detected in the first line, which may be a title without any.
        for delimiter in [options.delimiter] if options.delimiter else DELIMITERS:
            records = read_records(self.path, replace(self.dialect, delimiter=delimiter))
            most, above, width = 0, (0, 0), 0
            with suppress(InputError):
                for _, names, _, end in islice(records, TITLES):
                    line = end - "".join(names).count(self.dialect.line_end)
                    values = _count_values(names)
                    is_below_titles = 2 * most <= values
                    if has_all(names, text_columns):
                        return line, line == end and is_below_titles
                    if len(names) == width:
                        likely = max(likely, above)
                    above = (values, line) if most and is_below_titles else (0, 0)
                    most, width = max(most, values), len(names)
        return likely[1], False

    def _check(self, records: Sequence[Record]) -> None:
        width = len(self._names)
        for _, row, _, line in records:
            if len(row) != width:
                raise InputError(
                    f"{self.path}, line {line}: {how_many(len(row), 'field')} where {width:,} "
                    f"{'is' if width == 1 else 'are'} expected.",
                    ONE_COLUMN if width == 1 else FIX_THE_RECORD,
                )
            if self.dialect.unnamed and row[-1].strip():
                raise InputError(
                    f"{self.path}, line {line}: {quoted(row[-1])} is in a column without a name.",
                    "Name the last column in the header, or fix the record.",
                )


def _count_values(cells: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def _is_row(names: Sequence[str]) -> bool:
    """Return whether column names may be the values of a row: one alone, a number, a long text."""
    return len(names) == 1 or any(len(name) > LONGEST or NUMBER.fullmatch(name) for name in names)


TAB_SUFFIXES = (".tsv", ".tab")


def check(batch: Batch, _rows: int) -> None:
    """Check that the values of a batch can be written as text.

    Raises:
        InputError: one cannot.
    """
    if not isinstance(batch, CsvBatch):
        _original_texts(batch)


class CsvWriter(FileWriter):
    """A CSV file being written, with the dialect of the input if that is one too."""

    def __init__(
        self, path: Path, name: str, reader: Reader, new_fields: Sequence[pa.Field]
    ) -> None:
        new_names = [field.name for field in new_fields]
        is_tsv = split_suffixes(Path(name))[1].lower() in TAB_SUFFIXES
        self._dialect = Dialect("\t" if is_tsv else ",")
        if isinstance(reader, CsvReader):
            self._dialect = reader.dialect
        with ExitStack() as stack:
            self._stream = stack.enter_context(open_output(path, compression_of(Path(name))))
            self._stream.write(self._dialect.mark)
            if not isinstance(reader, CsvReader):
                first = self._records([[*reader.schema.names, *new_names]])[0]
                self._stream.write(f"{first}\n".encode())
            elif self._dialect.header:
                self._append([reader.header], self._records([new_names]))
            self._closing = stack.pop_all()

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns followed by the new ones."""
        new = self._records(zip(*(map(cell, column.values) for column in columns), strict=True))
        if isinstance(batch, CsvBatch):
            self._append([line.raw for line in batch.records], new)
            self._stream.write(batch.trailing.encode(self._dialect.encoding))
        else:
            original = self._records(zip(*_original_texts(batch), strict=True))
            self._append([f"{record}\n" for record in original], new)

    def _append(self, records: Sequence[str], new: Iterable[str]) -> None:
        """Insert the new cells after each record, before its line end."""
        delimiter, encoding = self._dialect.delimiter, self._dialect.encoding
        bodies = map(self._body, records)
        rows = zip(records, bodies, new, strict=True)
        text = "".join(f"{body}{delimiter}{cells}{raw[len(body) :]}" for raw, body, cells in rows)
        try:
            encoded = text.encode(encoding)
        except UnicodeEncodeError:  # only new cells can have characters that the encoding lacks
            encoded = text.encode(encoding, "replace")
            lacking = (c for c in {*text} if c.encode(encoding, "replace").decode(encoding) != c)
            self.replaced_characters += sum(map(text.count, lacking))
        self._stream.write(encoded)

    def _body(self, record: str) -> str:
        """Return a record without its line end."""
        body = record.rstrip("\r\n")
        is_escape = self._dialect.quote_escape == "backslash"
        if is_escape and (len(body) - len(body.rstrip("\\"))) % 2:
            return record[: len(body) + 1]  # an escaped carriage return belongs to the last field
        return body

    def _records(self, rows: Iterable[Sequence[str]]) -> list[str]:
        """Return records without line ends."""
        lines = _Lines()
        if self._dialect.quote_escape == "none":
            spaces = str.maketrans(dict.fromkeys(f"{self._dialect.delimiter}\r\n", " "))
            rows = [[value.translate(spaces) for value in row] for row in rows]
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


open_reader, open_writer = CsvReader, CsvWriter
