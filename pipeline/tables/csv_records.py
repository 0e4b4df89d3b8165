"""Decodes a CSV file into lines, and these into records, which encode back to the same bytes."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import InputError
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.formats import compression_of, first_bytes
from pipeline.tables.streams import described_encodings, open_input
from pipeline.wording import csv_option

CHUNK_BYTES = 1 << 20

RECORD_CHARS = 1 << 28
"""The longest line or record; without a limit, one could fill the memory."""

HINT_DAMAGED = (
    f"The characters before it are {{}}, so another {csv_option('encoding')} would change them: "
    "correct this line, or export the table again."
)

WIDE = ("utf-16", "utf-32")
"""Encodings of files with NULs: one that has NULs is damaged or cut off, and has no other."""

FIX_THE_RECORD = (
    f"Fix the record, or state what separates the fields: {csv_option('delimiter')}. If quotes are "
    f"part of the text (with tabs or |), set {csv_option('quote_escape', 'none')}; if each has a "
    f"backslash before it, {csv_option('quote_escape', 'backslash')}; if the lines do not end with "
    f"a line feed, {csv_option('line_end')}."
)


def read_lines(path: Path, dialect: Dialect) -> Iterator[list[str]]:
    """Yield the lines, many at a time, with their line ends; the last line may lack one.

    Raises:
        InputError: bytes are not valid in the encoding (the message has the line number), or
            would not be written back unchanged.
        csv.Error: a line is too long.
    """
    end = dialect.line_end
    pieces: list[str] = []  # of a line that no chunk has ended yet
    size = 0
    for text in _decode(path, dialect):
        lines = text.split(end)
        pieces.append(lines[0])
        size += len(lines[0])
        if size > RECORD_CHARS:
            raise csv.Error(TOO_LONG)
        if len(lines) > 1:
            lines[0] = "".join(pieces)
            pieces = [lines.pop()]
            size = len(pieces[0])
            yield [line + end for line in lines]
    last = "".join(pieces)
    if last:
        yield [last]


def _decode(path: Path, dialect: Dialect) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(dialect.encoding)()
    # A few codecs decode bytes to characters that they cannot encode.
    encoder = codecs.getincrementalencoder(dialect.encoding)("replace")
    lines = 0
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
            encoded = encoder.encode(text, final=not chunk)
            held = _same_bytes(path, dialect, encoded, held + chunk)
            lines += text.count(dialect.line_end)
            is_ascii &= text.isascii()
            yield text
            if not chunk:
                _same_bytes(path, dialect, held, b"")  # no bytes may remain
                return


def _same_bytes(path: Path, dialect: Dialect, encoded: bytes, original: bytes) -> bytes:
    """Return the bytes of which the encoded ones are the beginning, without these."""
    if not original.startswith(encoded):
        raise InputError(
            f"{path}: some characters have more than one form in {dialect.encoding}, "
            "so the records would not come back byte for byte.",
            "Convert the file to UTF-8 first.",
        )
    return original[len(encoded) :]


def _undecodable(
    path: Path, dialect: Dialect, error: UnicodeDecodeError, lines: int, is_ascii: bool
) -> InputError:
    """Return the error about bytes of a chunk, after some lines that are all ASCII or not."""
    before = error.object[: error.start].decode(dialect.encoding, errors="ignore")
    line = lines + before.count(dialect.line_end) + 1
    byte = error.object[error.start]
    encoding, readable = described_encodings(path)
    hint = f"State the encoding of the file: {csv_option('encoding', repr(encoding))}. {readable}"
    has_nuls = b"\0" in first_bytes(path, compression_of(path))
    if has_nuls and dialect.encoding.startswith(WIDE):
        hint = HINT_DAMAGED.format(dialect.encoding)
    elif dialect.encoding == "utf-8" and not (is_ascii and before.isascii()):
        hint = f"{HINT_DAMAGED.format('UTF-8')} {readable}"  # others hardly ever look like it
    return InputError(f"{path}, line {line}: byte 0x{byte:02X} is not {dialect.encoding}.", hint)


UNCLOSED = "a quote is opened and never closed"
TOO_LONG = f"it is too long, perhaps because {UNCLOSED}"

REASONS = {
    "unexpected end of data": UNCLOSED,
    "new-line character seen": "a different line break is outside quotes",
    "expected after": "there is text between a closing quote and the next delimiter",
}
"""Parts of the csv module's messages, and clearer ones."""

# By default, the csv module refuses fields over 128 KiB. The limit is process-wide.
csv.field_size_limit(max(csv.field_size_limit(), RECORD_CHARS))


class Record(NamedTuple):
    """A record of a CSV file.

    Attributes:
        raw: the record as in the file, with blank lines before it, and lines above the first one.
        fields: its values; none at the end of the file, where only blank lines follow.
        number: its number, from 1, as a spreadsheet counts: also blank lines.
        end: the number of its last line, from 1.
    """

    raw: str
    fields: list[str]
    number: int
    end: int


def read_records(path: Path, dialect: Dialect) -> Iterator[Record]:
    """Yield the header, if there is one, and all other records; last, the blank lines after them.

    Raises:
        InputError: a record is malformed, undecodable or too long.
    """
    lines = _Lines(read_lines(path, dialect), dialect.lines_before)
    reader = csv.reader(lines, **dialect.parameters())
    number = end = 0
    try:
        for number, fields in enumerate(reader, 1):
            end = reader.line_num
            if len(fields) > 1 or not lines.are_blank(fields):
                yield Record(lines.take(), fields, number, end)
    except csv.Error as error:
        message = str(error)
        reason = next((clear for part, clear in REASONS.items() if part in message), message)
        raise InputError(
            f"{path}: the record that begins on line {end + 1} is malformed: {reason}.",
            FIX_THE_RECORD,
        ) from error
    if trailing := lines.take():
        yield Record(trailing, [], number + 1, end)


class _Lines:
    """The lines that the csv module reads, until those of a record are taken.

    Those above the first record are blank to it.
    """

    def __init__(self, blocks: Iterable[list[str]], above: int) -> None:
        self._blocks = blocks
        self._above = above
        self._kept: list[str] = []
        self._joined = 0  # how many of them are several lines

    def __iter__(self) -> Iterator[str]:
        """Yield each line.

        Raises:
            csv.Error: a record, with the blank lines before it, is too long for the memory.
        """
        above = self._above
        for block in self._blocks:
            self._kept[self._joined :] = ["".join(self._kept[self._joined :])]
            self._joined = len(self._kept)  # a cell may have millions of lines
            if sum(map(len, self._kept)) > RECORD_CHARS:
                raise csv.Error(TOO_LONG)
            for line in block:
                self._kept.append(line)
                above -= 1
                yield line if above < 0 else ""

    def take(self) -> str:
        """Take the lines of the record that has just been read, with blank lines before it."""
        raw = "".join(self._kept)
        self._kept.clear()
        self._joined = 0
        return raw

    def are_blank(self, fields: list[str]) -> bool:
        """Return whether a record is a blank line, unlike one with a quoted empty value."""
        return not fields or not (fields[0].strip() or '"' in self._kept[-1])
