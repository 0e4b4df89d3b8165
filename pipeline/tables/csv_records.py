"""Splits a CSV file into records, and keeps the lines of each as they are in the file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path

from pipeline.errors import InputError
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.csv_lines import RECORD_CHARS, read_lines

__all__ = ["RecordReader", "Records"]

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


@dataclass(slots=True)
class Records:
    """Consecutive records of a CSV file.

    Attributes:
        raws: each record as in the file, with the blank lines before it.
        fields: the values of each record.
        ends: the number of each record's last line, from 1.
        trailing: blank lines after the last record of the file.
    """

    raws: list[str]
    fields: list[list[str]]
    ends: list[int]
    trailing: str = ""


class RecordReader:
    """Reads the records of a CSV file from its beginning, as many at a time as the caller asks for.

    The csv module consumes the lines without a call of Python code for each. The lines that a
    record consists of follow from the number of lines that the module had read at its end.
    """

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self._path = path
        self._lines = _Lines()
        self._blank: list[str] = []  # blank lines before the next record
        self._blank_size = 0
        self._left = Records([], [], [])
        self._ended = False
        self._error: InputError | None = None
        lines = chain.from_iterable(self._lines.noted(read_lines(path, dialect)))
        self._reader = csv.reader(lines, **dialect.parameters())

    def take(self, rows: int, chars: int) -> Records:
        """Return the next records, empty at the end of the file.

        Args:
            rows: how many to return at most.
            chars: return fewer as soon as they have this many characters.

        Raises:
            InputError: the next record is malformed, undecodable or too long.
        """
        left = self._left
        while len(left.raws) < rows and not self._ended and _chars(left.raws) < chars:
            self._read(rows - len(left.raws), chars)
        if self._error and not left.raws:
            try:
                raise self._error
            finally:
                self._error = None  # a cycle through its traceback would keep the file open
        count = rows
        if _chars(left.raws) >= chars:
            sizes = enumerate(accumulate(map(len, left.raws)), start=1)
            count = min(rows, next(place for place, size in sizes if size >= chars))
        self._left = Records(left.raws[count:], left.fields[count:], left.ends[count:])
        found = Records(left.raws[:count], left.fields[:count], left.ends[:count])
        if self._ended and not self._left.raws and not self._error:
            found.trailing = "".join(self._blank)
            self._blank.clear()
        return found

    def _read(self, rows: int, chars: int) -> None:
        """Read some records; an error is kept until those before it are taken."""
        fields: list[list[str]] = []
        lines, reader = self._lines, self._reader
        ends = lines.ends
        try:
            for record in islice(reader, rows):
                fields.append(record)
                ends.append(reader.line_num)
                if lines.chars >= chars:
                    break
            else:
                self._ended = len(fields) < rows
        except csv.Error as error:
            self._fail(error, ends[-1] if ends else lines.done)
        except InputError as error:
            self._error = error
        if fields:
            self._add(lines.taken(), fields, ends)
        self._ended = self._ended or self._error is not None

    def _add(self, raws: Sequence[str], fields: Sequence[list[str]], ends: Sequence[int]) -> None:
        """Add records to those that are left."""
        if self._blank or min(map(len, fields)) < 2:
            self._add_after_blank(raws, fields, ends)
        else:
            self._left.raws += raws
            self._left.fields += fields
            self._left.ends += ends

    def _add_after_blank(
        self, raws: Sequence[str], fields: Sequence[list[str]], ends: Sequence[int]
    ) -> None:
        left, blank = self._left, self._blank
        for raw, record, end in zip(raws, fields, ends, strict=True):
            if _is_blank(record, raw):
                blank.append(raw)
                self._blank_size += len(raw) + LINE_CHARS
                if self._blank_size > RECORD_CHARS:
                    self._fail(csv.Error(BLANK), end - 1)
                    return
                continue
            left.raws.append("".join([*blank, raw]))
            left.fields.append(record)
            left.ends.append(end)
            blank.clear()
            self._blank_size = 0

    def _fail(self, error: csv.Error, line: int) -> None:
        """Keep the error of the record that begins after a line."""
        said = str(error)
        reason = next((ours for theirs, ours in REASONS.items() if theirs in said), said)
        self._error = InputError(
            f"{self._path}: the record that begins on line {line + 1} is malformed: {reason}.",
            "Fix the record, or state the dialect: --quote-escape, --line-end, --delimiter.",
        )
        self._error.__cause__ = error


class _Lines:
    """The lines that the csv module has read, until their records are complete.

    Attributes:
        ends: the number of the last line of each record that is complete.
        done: how many lines were taken with their records.
        chars: the characters of the others.
    """

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.done = 0
        self.chars = 0
        self._lines: list[str] = []

    def noted(self, blocks: Iterable[list[str]]) -> Iterator[list[str]]:
        """Yield blocks of lines, and note them.

        Raises:
            csv.Error: a record is too long for the memory.
        """
        for block in blocks:
            complete = self._lines[: self.ends[-1] - self.done] if self.ends else []
            open_lines = len(self._lines) - len(complete)
            if self.chars - _chars(complete) + LINE_CHARS * open_lines > RECORD_CHARS:
                raise csv.Error(UNCLOSED)
            self._lines += block
            self.chars += _chars(block)
            yield block

    def taken(self) -> list[str]:
        """Take the lines of the complete records, at least one; return each record's as one."""
        ends, self.ends = self.ends, []
        lines = self._lines[: ends[-1] - self.done]
        raws = lines
        if len(lines) > len(ends):
            places = [0, *(end - self.done for end in ends)]
            raws = ["".join(lines[a:b]) for a, b in pairwise(places)]
        del self._lines[: len(lines)]
        self.chars -= _chars(lines)
        self.done = ends[-1]
        return raws


def _chars(lines: Iterable[str]) -> int:
    return sum(map(len, lines))


def _is_blank(fields: list[str], record: str) -> bool:
    """Return whether a record is a blank line, unlike one with a quoted empty value."""
    return not fields or (len(fields) == 1 and not fields[0].strip() and '"' not in record)
