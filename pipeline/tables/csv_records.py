"""Splits a CSV file into records, and keeps the lines of each as they are in the file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path

from pipeline.errors import InputError
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.csv_lines import RECORD_CHARS, read_lines
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS

__all__ = ["Records", "read_records"]

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

    raws: list[str] = field(default_factory=list)
    fields: list[list[str]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    trailing: str = ""

    def extend(self, more: Records) -> None:
        """Append the records that follow in the file."""
        self.raws += more.raws
        self.fields += more.fields
        self.ends += more.ends
        self.trailing = more.trailing

    def take(self, count: int) -> Records:
        """Remove the first records and return them."""
        first = Records(self.raws[:count], self.fields[:count], self.ends[:count])
        del self.raws[:count], self.fields[:count], self.ends[:count]
        return first


def read_records(path: Path, dialect: Dialect) -> Iterator[Records]:
    """Yield the records in batches for `pipeline.tables.table.Reader`; a header comes alone.

    Raises:
        InputError: a record is malformed, undecodable or too long; those before it come first.
    """
    rows = 1 if dialect.header else BATCH_ROWS
    waiting = Records()
    try:
        for run in _with_blank_lines(_runs(path, dialect), path):
            waiting.extend(run)
            while count := _full_batch(waiting, rows):
                yield waiting.take(count)
                rows = BATCH_ROWS
    except InputError:
        if waiting.raws:
            yield waiting
        raise
    if waiting.raws or waiting.trailing:
        yield waiting


def _full_batch(records: Records, rows: int) -> int:
    """Return how many of the records make a batch; 0 if there are too few."""
    if _chars(records.raws) >= BATCH_CHARS:
        sizes = enumerate(accumulate(map(len, records.raws)), start=1)
        return min(rows, next(count for count, size in sizes if size >= BATCH_CHARS))
    return rows if len(records.raws) >= rows else 0


def _with_blank_lines(runs: Iterable[Records], path: Path) -> Iterator[Records]:
    """Yield the records with the blank lines before each; last, the blank lines at the end."""
    blank: list[str] = []
    size = 0
    for run in runs:
        if not blank and min(map(len, run.fields)) > 1:  # as in most files
            yield run
            continue
        kept = Records()
        for raw, fields, end in zip(run.raws, run.fields, run.ends, strict=True):
            if _is_blank(fields, raw):
                blank.append(raw)
                size += len(raw) + LINE_CHARS
                if size > RECORD_CHARS:
                    yield kept
                    raise _malformed(path, end - 1, BLANK)
                continue
            kept.raws.append("".join([*blank, raw]))
            kept.fields.append(fields)
            kept.ends.append(end)
            blank.clear()
            size = 0
        yield kept
    yield Records(trailing="".join(blank))


def _is_blank(fields: list[str], record: str) -> bool:
    """Return whether a record is a blank line, unlike one with a quoted empty value."""
    return not fields or (len(fields) == 1 and not fields[0].strip() and '"' not in record)


def _runs(path: Path, dialect: Dialect) -> Iterator[Records]:
    """Yield runs of records, blank lines among them, as the csv module parses them.

    It consumes the lines without a call of Python code for each. The lines that a record consists
    of follow from the number of lines that the module had read at its end.
    """
    lines = _Lines()
    reader = csv.reader(
        chain.from_iterable(lines.noted(read_lines(path, dialect))), **dialect.parameters()
    )
    ends = lines.ends
    fields: list[list[str]] = []
    try:
        while True:
            for record in islice(reader, BATCH_ROWS):
                fields.append(record)
                ends.append(reader.line_num)
                if lines.chars >= BATCH_CHARS:
                    break
            if not fields:
                return
            yield lines.taken(fields)
            fields = []
    except (csv.Error, InputError) as error:
        if fields:
            yield lines.taken(fields)
        if isinstance(error, InputError):
            raise
        message = str(error)
        reason = next((clear for part, clear in REASONS.items() if part in message), message)
        raise _malformed(path, lines.done, reason) from error


def _malformed(path: Path, line: int, reason: str) -> InputError:
    """Return the error of the record that begins after a line."""
    return InputError(
        f"{path}: the record that begins on line {line + 1} is malformed: {reason}.",
        "Fix the record, or state the dialect: --quote-escape (none if quotes are part of the "
        "text), --line-end, --delimiter.",
    )


class _Lines:
    """The lines that the csv module has read, until their records are taken.

    Attributes:
        ends: the number of the last line of each complete record among them, from 1.
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

    def taken(self, fields: list[list[str]]) -> Records:
        """Take the lines of the complete records, at least one, and return these.

        Args:
            fields: the values of each record.
        """
        ends = self.ends.copy()
        lines = self._lines[: ends[-1] - self.done]
        raws = lines
        if len(lines) > len(ends):  # some records have several lines
            places = [0, *(end - self.done for end in ends)]
            raws = ["".join(lines[start:stop]) for start, stop in pairwise(places)]
        del self._lines[: len(lines)]
        self.chars -= _chars(lines)
        self.done = ends[-1]
        self.ends.clear()
        return Records(raws, fields, ends)


def _chars(lines: Iterable[str]) -> int:
    return sum(map(len, lines))
