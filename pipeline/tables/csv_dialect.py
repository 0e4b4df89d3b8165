"""Finds out how a CSV file is written: encoding, delimiter and line ends."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.errors import InputError, SettingsError
from pipeline.settings import CsvOptions
from pipeline.tables.contents import refuse_other_contents
from pipeline.tables.streams import open_input

__all__ = ["Dialect", "detect"]

SAMPLE_BYTES = 256 * 1024
SAMPLE_RECORDS = 200
DELIMITERS = (",", ";", "\t", "|")

# A quoted field; one that the sample cuts off ends with it.
QUOTED_DOUBLE = r'"[^"]*(?:""[^"]*)*(?:"|\Z)'
QUOTED_BACKSLASH = r'"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\Z)'

PROBES = "aéあ가漢"
"""Letters of which every encoding has one or more."""

# UTF-32 first: its little-endian mark begins with UTF-16's.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Codecs that write a mark of their own; the mark is kept apart here, so that it stands once.
WITHOUT_MARK = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one CSV file is written.

    Attributes:
        delimiter: the character between fields.
        encoding: a codec that writes no byte order mark.
        mark: the file's byte order mark, or no bytes.
        line_end: the character that ends a line when lines are cut: a line feed (which a
            carriage return may precede) or a carriage return.
        terminator: what ends the records that we write ourselves.
        backslash: whether quotes inside quoted fields are escaped by a backslash.
        header: whether the first record names the columns.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    mark: bytes = b""
    line_end: str = "\n"
    terminator: str = "\n"
    backslash: bool = False
    header: bool = True

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make the csv module read and write this dialect."""
        return {
            "delimiter": self.delimiter,
            "quotechar": '"',
            "doublequote": not self.backslash,
            "escapechar": "\\" if self.backslash else None,
            "strict": True,
        }


def detect(path: Path, options: CsvOptions, wanted: Sequence[str] = ()) -> Dialect:
    """Look at the beginning of a file; what the options state is taken as stated.

    Args:
        path: the file.
        options: what is known of it.
        wanted: columns that the file should have; they tell delimiters apart.

    Raises:
        InputError: the file cannot be opened or is no text, or the stated encoding cannot be cut
            into records.
        SettingsError: the stated encoding lacks the stated delimiter.
    """
    with open_input(path) as stream:
        sample = stream.read(SAMPLE_BYTES)
    refuse_other_contents(path, "CSV", sample)
    mark, encoding = _encoding(sample, options.encoding)
    _check_stateless(path, encoding)
    _check_delimiter(options.delimiter, encoding)
    text = sample[len(mark) :].decode(encoding, errors="replace")
    line_end, terminator = _line_end(text, options)
    backslash = options.quote_escape == "backslash"
    dialect = Dialect(",", encoding, mark, line_end, terminator, backslash, options.header)
    delimiter = options.delimiter or _delimiter(text, dialect, wanted)
    return Dialect(delimiter, encoding, mark, line_end, terminator, backslash, options.header)


def _encoding(sample: bytes, stated: str | None) -> tuple[bytes, str]:
    wanted = codecs.lookup(stated).name if stated else None
    wanted = WITHOUT_MARK.get(wanted, wanted) if wanted else None
    for mark, encoding in BYTE_ORDER_MARKS:
        same_family = (
            wanted is None or wanted == encoding or _stated_without_order(stated, encoding)
        )
        if sample.startswith(mark) and same_family:
            return mark, encoding
    return b"", wanted or "utf-8"


def _stated_without_order(stated: str | None, encoding: str) -> bool:
    """Tell whether ``utf-16`` was stated and the mark says which of its two orders it is."""
    return stated is not None and encoding.startswith(codecs.lookup(stated).name)


def _check_stateless(path: Path, encoding: str) -> None:
    """Refuse an encoding in which a character's bytes depend on what stands before it.

    Records are written back one by one; so written, UTF-7 or ISO-2022-KR give other bytes.
    """
    for letter in PROBES:
        try:
            whole = f"{letter}\n{letter}".encode(encoding)
            parts = letter.encode(encoding), "\n".encode(encoding), letter.encode(encoding)
        except UnicodeError:
            continue
        if whole != b"".join(parts):
            raise InputError(
                f"{path}: in {encoding} the bytes of a character depend on what stands before "
                "it, so the records would not come back byte for byte.",
                "Convert the file to UTF-8 first.",
            )


def _check_delimiter(delimiter: str | None, encoding: str) -> None:
    try:
        (delimiter or "").encode(encoding)
    except UnicodeError as error:
        raise SettingsError(
            f"The encoding {encoding} has no character {delimiter!r} to separate fields.",
            "Give another --delimiter, or another --encoding.",
        ) from error


def _line_end(text: str, options: CsvOptions) -> tuple[str, str]:
    """Return where lines are cut and what ends ours: as stated, else as the first line ends."""
    if options.line_end is not None:
        terminator = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}[options.line_end]
        return terminator[-1], terminator
    quoted = QUOTED_BACKSLASH if options.quote_escape == "backslash" else QUOTED_DOUBLE
    delimiters = re.escape(options.delimiter or "".join(DELIMITERS))
    pieces = re.finditer(rf"(?<![^{delimiters}\r\n]){quoted}|(?P<end>\r*\n|\r)", text)
    usual = "\r" if "\r" in text and "\n" not in text else "\n"
    found = next((piece["end"] for piece in pieces if piece["end"]), usual)
    return found[-1], found[-2:]


def _delimiter(text: str, dialect: Dialect, wanted: Sequence[str]) -> str:
    """Choose the delimiter that cuts the most records into as many fields as the first one.

    One by which the first record names all the wanted columns comes before the others. A
    delimiter that never occurs cuts every file into one column, so agreement counts only with
    two columns or more; among equals the one with more columns wins.
    """
    lines = text.split(dialect.line_end)
    whole = lines[:-1] if len(lines) > 1 else lines
    return max(DELIMITERS, key=lambda delimiter: _fitness(whole, delimiter, dialect, wanted))


def _fitness(
    lines: Sequence[str], delimiter: str, dialect: Dialect, wanted: Sequence[str]
) -> tuple[bool, float, int]:
    """Return whether the wanted columns are there, the share of alike records, the columns."""
    parameters = {**dialect.parameters(), "delimiter": delimiter, "strict": False}
    reader = csv.reader((line + "\n" for line in lines), **parameters)
    try:
        records = [fields for fields in islice(reader, SAMPLE_RECORDS) if fields]
    except csv.Error:
        records = []
    if not records:
        return False, 0.0, 0
    found = dialect.header and set(wanted) <= set(records[0])
    width = len(records[0])
    if width < 2:
        return found, 0.0, 0
    return found, sum(len(fields) == width for fields in records) / len(records), width
