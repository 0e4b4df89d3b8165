"""Decodes a CSV file into lines, and these into records, which encode back to the same bytes."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal

from pipeline.errors import InputError
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.streams import described_encodings, is_utf_8, open_input
from pipeline.tables.table import BATCH_CHARS, BATCH_ROWS
from pipeline.wording import csv_option

__all__ = ["Records", "read_lines", "read_records", "utf_16"]

CHUNK_BYTES = 1 << 20

RECORD_CHARS = 1 << 28
"""The longest line or record; without a limit, one could fill the memory."""

SAMPLE_BYTES = 1000
"""How much of a chunk shows whether every second byte is a NUL."""

HINT_DAMAGED = (
    f"The characters before it are UTF-8, so another {csv_option('encoding')} would change them: "
    "correct this line, or export the table again."
)


def read_lines(path: Path, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the lines, many at a time, with their line ends; the last line may lack one.

    Raises:
        InputError: bytes are not valid in the encoding (the message has the line number), or
            would not be written back unchanged, or a line is too long.
    """
    end = dialect.line_end
    pieces: list[str] = []  # of a line that no chunk has ended yet
    size = 0
    number = 1 + dialect.lines_before
    if dialect.lines_before:
        yield [""] * dialect.lines_before  # blank lines, so that all others keep their numbers
    for text in _decoded(path, dialect):
        lines = text.split(end)
        pieces.append(lines[0])
        size += len(lines[0])
        if size > RECORD_CHARS:
            raise _endless(path, number, dialect)
        if len(lines) > 1:
            lines[0] = "".join(pieces)
            pieces = [lines.pop()]
            size = len(pieces[0])
            number += len(lines)
            yield [line + end for line in lines]
    last = "".join(pieces)
    if last:
        yield [last]


def _endless(path: Path, number: int, dialect: Dialect) -> InputError:
    end = "carriage return" if dialect.line_end == "\r" else "line feed"
    return InputError(
        f"{path}, line {number}: it has more than {RECORD_CHARS:,} characters without a {end}.",
        f"Check that it is CSV, and state its line ends: {csv_option('line_end', 'lf')}, crlf or "
        "cr.",
    )


def _decoded(path: Path, dialect: Dialect) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(dialect.encoding)()
    encoder = codecs.getincrementalencoder(dialect.encoding)()
    lines = dialect.lines_before
    is_ascii = True
    held = b""  # bytes of a character that was split between two chunks
    with open_input(path) as stream:
        stream.read(len(dialect.mark))
        while True:
            chunk = stream.read(CHUNK_BYTES)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise _undecodable(path, dialect, error, lines, is_ascii) from error
            try:
                encoded = encoder.encode(text, final=not chunk)
            except UnicodeEncodeError as error:  # the codec decodes bytes that it cannot encode
                raise _other_bytes(path, dialect) from error
            held = _same_bytes(path, dialect, encoded, held + chunk)
            lines += text.count(dialect.line_end)
            is_ascii &= text.isascii()
            yield text
            if not chunk:
                _same_bytes(path, dialect, held, b"")  # no bytes may remain
                return


def _same_bytes(path: Path, dialect: Dialect, encoded: bytes, original: bytes) -> bytes:
    if not original.startswith(encoded):
        raise _other_bytes(path, dialect)
    return original[len(encoded) :]


def _other_bytes(path: Path, dialect: Dialect) -> InputError:
    return InputError(
        f"{path}: some characters have more than one form in {dialect.encoding}, "
        "so the records would not come back byte for byte.",
        "Convert the file to UTF-8 first.",
    )


def utf_16(order: Literal["le", "be"]) -> str:
    """Return what to do about a file that seems to be UTF-16, with this order of bytes."""
    return (
        "NULs are between the letters, as in UTF-16 without a byte order mark: "
        f"{csv_option('encoding', repr(f'utf-16-{order}'))}."
    )


def _undecodable(
    path: Path, dialect: Dialect, error: UnicodeDecodeError, lines: int, is_ascii: bool
) -> InputError:
    """Return the error about bytes of a chunk.

    Args:
        path: the file.
        dialect: its dialect.
        error: what the decoder says.
        lines: the lines before the chunk.
        is_ascii: whether all characters before the chunk are ASCII.
    """
    before = error.object[: error.start].decode(dialect.encoding, errors="ignore")
    line = lines + before.count(dialect.line_end) + 1
    byte = error.object[error.start]
    return InputError(
        f"{path}, line {line}: byte 0x{byte:02X} is not {dialect.encoding}.",
        _encoding_hint(path, dialect, error, is_ascii and before.isascii()),
    )


def _encoding_hint(path: Path, dialect: Dialect, error: UnicodeDecodeError, is_ascii: bool) -> str:
    chunk = error.object
    even, odd = (chunk[first:SAMPLE_BYTES:2].count(0) for first in (0, 1))
    is_utf_16 = 4 * abs(even - odd) > min(len(chunk), SAMPLE_BYTES)  # binary has both
    if is_utf_16 and "\0".encode(dialect.encoding) == b"\0":  # else UTF-16 itself has an error
        return utf_16("be" if even > odd else "le")
    if dialect.encoding != "utf-8" and is_utf_8(path):
        return f"The file is UTF-8: leave out {csv_option('encoding')}."
    encoding, readable = described_encodings(path, chunk[error.start])
    if dialect.encoding == "utf-8" and not is_ascii:  # other encodings hardly ever look like it
        return f"{HINT_DAMAGED} {readable}"
    return f"State the encoding of the file: {csv_option('encoding', repr(encoding))}. {readable}"


LINE_CHARS = 64
"""The memory that a line takes beyond its characters, in characters."""

JOINED_CHARS = 8
"""The same for a line of a record with very many: they are joined."""

UNCLOSED = "a quote is opened and never closed"
TOO_LONG = "it is too long, perhaps because a quote is opened and never closed"
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


def read_records(path: Path, dialect: Dialect) -> Iterator[Records]:
    """Yield the records in batches for `pipeline.tables.table.Reader`; a header comes alone.

    Raises:
        InputError: a record is malformed, undecodable or too long; those before it come first.
    """
    waiting = _Waiting()  # it does not hold the reader: a cycle would keep the file open
    lines = chain.from_iterable(waiting.noted(read_lines(path, dialect)))
    reader = csv.reader(lines, **dialect.parameters())
    rows = 1 if dialect.header else BATCH_ROWS
    try:
        while waiting.read(reader, rows):
            yield waiting.taken()
            rows = BATCH_ROWS
    except (csv.Error, InputError) as error:
        if waiting.fields:
            yield waiting.taken()
        if isinstance(error, InputError):
            raise
        message = str(error)
        reason = next((clear for part, clear in REASONS.items() if part in message), message)
        raise InputError(
            f"{path}: the record that begins on line {waiting.seen + 1} is malformed: {reason}.",
            f"Fix the record, or state the dialect: {csv_option('quote_escape')} (for tabs or |, "
            f"none if quotes are part of the text), {csv_option('line_end')}, "
            f"{csv_option('delimiter')}.",
        ) from error
    if waiting.lines:
        last = waiting.taken()
        last.trailing = "".join(waiting.lines)
        yield last


class _Waiting:
    """What the csv module has read, until it is taken in batches.

    The module consumes the lines without a call of Python code for each. The lines that a record
    consists of, and the blank ones before it, follow from the number of lines that the module had
    read at its end.

    Attributes:
        lines: the lines that were read.
        fields: the values of each record among them that is not blank.
        seen: the number of the last line of the last record, perhaps a blank one, from 1.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.fields: list[list[str]] = []
        self.seen = 0
        self._ends: list[int] = []  # the number of the last line of each record
        self._taken = 0  # how many lines were taken
        self._chars = 0  # of the others
        self._blank = 0  # what the blank lines after the last record take in memory
        self._size = self._sized = 0  # the characters of the first lines, and how many lines

    def read(self, reader: Any, rows: int) -> bool:
        """Read records until they make a batch; return whether they do, or the file has ended.

        Raises:
            csv.Error: a record is malformed, or too long for the memory.
        """
        for record in reader:
            end = reader.line_num
            if len(record) > 1 or not self._is_blank(record, end):
                self.fields.append(record)
                self._ends.append(end)
                self._blank = 0
                if len(self.fields) == rows or self._is_large(end):
                    self.seen = end
                    return True
            self.seen = end
        return False

    def taken(self) -> Records:
        """Take the records with their lines, and the blank lines before each."""
        places = [0, *(end - self._taken for end in self._ends)]
        raws = lines = self.lines[: places[-1]]
        if len(lines) > len(self._ends):  # some records have several lines
            raws = ["".join(lines[start:stop]) for start, stop in pairwise(places)]
        records = Records(raws, self.fields, self._ends)
        self.fields, self._ends = [], []
        del self.lines[: len(lines)]
        self._chars -= _chars(lines)
        self._taken += len(lines)
        self._size = self._sized = 0
        return records

    def _is_large(self, end: int) -> bool:
        """Return whether the records up to a line make a batch by their characters."""
        if self._chars < BATCH_CHARS:
            return False
        self._size += _chars(self.lines[self._sized : end - self._taken])
        self._sized = end - self._taken
        return self._size >= BATCH_CHARS

    def _is_blank(self, fields: list[str], end: int) -> bool:
        """Return whether a record is a blank line, unlike one with a quoted empty value.

        Raises:
            csv.Error: there are too many blank lines for the memory.
        """
        if fields and fields[0].strip():
            return False
        raw = "".join(self.lines[self.seen - self._taken : end - self._taken])
        if fields and '"' in raw:
            return False
        self._blank += len(raw) + LINE_CHARS
        if self._blank > RECORD_CHARS:
            raise csv.Error(BLANK)
        return True

    def noted(self, blocks: Iterable[list[str]]) -> Iterator[list[str]]:
        """Yield blocks of lines, and note them.

        Raises:
            csv.Error: a record is too long for the memory.
        """
        begin = joined = size = 0  # of the record that is not complete
        for block in blocks:
            if begin != self.seen:
                begin = joined = self.seen
                size = 0
            lines = self.lines[joined - self._taken :]
            size += _chars(lines) + JOINED_CHARS * len(lines)
            if size > RECORD_CHARS:
                raise csv.Error(TOO_LONG)
            if len(lines) > 1:  # a cell may have millions
                self.lines[joined - self._taken :] = ["".join(lines), *[""] * (len(lines) - 1)]
            joined += len(lines)
            self.lines += block
            self._chars += _chars(block)
            yield block


def _chars(lines: Iterable[str]) -> int:
    return sum(map(len, lines))
