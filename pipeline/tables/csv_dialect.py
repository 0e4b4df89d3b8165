"""Detects the dialect of a CSV file: encoding, delimiter and line ends."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from pipeline.errors import InputError, SettingsError
from pipeline.settings import CsvOptions, QuoteEscape
from pipeline.tables.formats import refuse_other_contents
from pipeline.tables.streams import open_input
from pipeline.tables.texts import has_all
from pipeline.wording import csv_option

SAMPLE_BYTES = 256 * 1024
SAMPLE_RECORDS = 200
DELIMITERS = (",", ";", "\t", "|")

UNQUOTED = ("\t", "|")
"""The delimiters of tables without quotes: others are in titles and in JSON, which need quotes."""

# A quoted field, which may run to the end of the sample.
QUOTED: dict[QuoteEscape, str] = {
    "double": r'"[^"]*(?:""[^"]*)*(?:"|\Z)',
    "backslash": r'"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\Z)',
    "none": r"(?!)",
}

STATEFUL = ("utf-7", "iso2022_kr", "idna", "punycode", "raw-unicode-escape", "unicode-escape")
"""Encodings whose records, written back one by one, would not keep their bytes: what a character is
depends on those before it, or there are halves of characters."""

# UTF-32 comes first, since its little-endian mark begins with that of UTF-16.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Codecs that write a mark themselves. The mark is written separately, so that it occurs once.
WITHOUT_MARK = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


FOR_EXCEL = re.compile(r'("?)sep=(?P<delimiter>[^"\r\n])\1(?:\r?\n|\r)', re.IGNORECASE)
"""A first line that tells Excel the delimiter."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The format of a CSV file.

    Attributes:
        delimiter: the character between fields.
        encoding: a codec that writes no byte order mark.
        mark: the byte order mark; often no bytes.
        line_end: the character at which lines are split: a line feed (perhaps after a carriage
            return) or a carriage return.
        quote_escape: see `CsvOptions`.
        header: whether the first record names the columns.
        lines_before: how many lines are above the first record: titles, or one that tells Excel the
            delimiter.
        unnamed: whether rows end with one delimiter more than the column names.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    mark: bytes = b""
    line_end: str = "\n"
    quote_escape: QuoteEscape = "double"
    header: bool = True
    lines_before: int = 0
    unnamed: bool = False

    def parameters(self) -> dict[str, Any]:
        """Return this dialect as arguments for the csv module."""
        return {
            "delimiter": self.delimiter,
            "quotechar": None if self.quote_escape == "none" else '"',
            "quoting": csv.QUOTE_NONE if self.quote_escape == "none" else csv.QUOTE_MINIMAL,
            "doublequote": self.quote_escape == "double",
            "escapechar": "\\" if self.quote_escape == "backslash" else None,
            "strict": True,
        }


def detect(path: Path, options: CsvOptions, text_columns: Sequence[str] = ()) -> Dialect:
    """Detect the dialect of a file from its beginning; stated options take precedence.

    Wanted columns help to choose the delimiter.

    Raises:
        InputError: the file cannot be opened, is not text or is too short, or records in its
            encoding cannot be copied byte for byte.
        SettingsError: the stated encoding does not have the stated delimiter, or the delimiter
            that the file states for Excel cannot be one.
    """
    with open_input(path) as stream:
        sample = stream.read(SAMPLE_BYTES)
    refuse_other_contents(path, "CSV", sample)
    mark, encoding = _encoding(sample, options.encoding)
    if encoding in STATEFUL:
        raise InputError(
            f"{path}: records in {encoding} would not come back byte for byte.",
            "Convert the file to UTF-8 first.",
        )
    _check_delimiter(options.delimiter, encoding)
    text = sample[len(mark) :].decode(encoding, errors="replace")
    lines_before = above = (options.header_row or 1) - 1
    if excel := FOR_EXCEL.match(text):
        options = replace(options, delimiter=options.delimiter or excel["delimiter"])
        lines_before = max(above, 1)
    line_end = _line_end(text, options)
    text = "".join(text.split(line_end, lines_before)[lines_before:])
    if above and not text.strip():
        raise InputError(
            f"{path} has no line {above + 1} with column names.",
            f"Give the number of their line: {csv_option('header_row', 1)}.",
        )
    dialect = Dialect(
        encoding=encoding,
        mark=mark,
        line_end=line_end,
        quote_escape=options.quote_escape,
        header=options.header,
        lines_before=lines_before,
    )
    delimiter = options.delimiter or _delimiter(text, dialect, text_columns)
    if options.quote_escape == "none" and delimiter not in UNQUOTED:
        raise InputError(
            f"{path}: without quotes, new cells cannot hold the delimiter {delimiter!r}.",
            f"Use {csv_option('quote_escape', 'none')} only for tables with tabs or |, or state "
            f"the {csv_option('delimiter')}.",
        )
    dialect = replace(dialect, delimiter=delimiter)
    return replace(dialect, unnamed=dialect.header and _has_unnamed(text, dialect))


def _has_unnamed(text: str, dialect: Dialect) -> bool:
    """Return whether the first row has one field more than the header: an empty last one."""
    records = _records(islice(_whole_lines(text, dialect), SAMPLE_RECORDS), dialect)[:2]
    if len(records) < 2 or len(records[0]) < 2:
        return False
    return [field.strip() for field in records[1][len(records[0]) :]] == [""]


def _encoding(sample: bytes, stated: str | None) -> tuple[bytes, str]:
    """Return the byte order mark and the encoding; the mark completes a stated ``utf-16``."""
    name = codecs.lookup(stated).name if stated else ""
    without_mark = WITHOUT_MARK.get(name, name)
    for mark, encoding in BYTE_ORDER_MARKS:
        if sample.startswith(mark) and (encoding == without_mark or encoding.startswith(name)):
            return mark, encoding
    return b"", without_mark or _encoding_without_mark(sample[:1000])


def _encoding_without_mark(sample: bytes) -> str:
    """Return UTF-16 if hardly any but every second byte is NUL; else UTF-8.

    Only the first line counts, since texts may be UTF-16 in cells of UTF-8. It is mostly ASCII, or
    at least its delimiters and its end are.
    """
    end = sample.find(b"\n", 2)
    line = sample if end < 0 else sample[: end + 2]
    even, odd = (line[first::2].count(0) for first in (0, 1))
    is_wide = 4 * abs(even - odd) > len(line) or line[-2:] == b"\n\0" or line[-3:-1] == b"\0\n"
    if not is_wide or max(even, odd) < max(2, 4 * min(even, odd)):
        return "utf-8"
    return "utf-16-be" if even > odd else "utf-16-le"


def _check_delimiter(delimiter: str | None, encoding: str) -> None:
    try:
        (delimiter or "").encode(encoding)
    except UnicodeError as error:
        raise SettingsError(
            f"The delimiter {delimiter!r} does not exist in the encoding {encoding}.",
            f"Use another {csv_option('delimiter')}, or another {csv_option('encoding')}.",
        ) from error


def _line_end(text: str, options: CsvOptions) -> str:
    """Return where to split lines: as stated, else where the first line ends."""
    if options.line_end is not None:
        return "\r" if options.line_end == "cr" else "\n"
    quoted = QUOTED[options.quote_escape]
    delimiters = re.escape(options.delimiter or "".join(DELIMITERS))
    pieces = re.finditer(rf"(?<![^{delimiters}\r\n]){quoted}|(?P<end>\r*\n|\r)", text)
    usual = "\r" if "\r" in text and "\n" not in text else "\n"
    return next((piece["end"][-1] for piece in pieces if piece["end"]), usual)


def _delimiter(text: str, dialect: Dialect, text_columns: Sequence[str]) -> str:
    """Choose the delimiter by which most records have as many fields as the first one.

    A delimiter by which the first record names all wanted columns takes precedence. A delimiter
    that never occurs makes one column of any file, so agreement counts only with two columns or
    more. Among equals, the one with more columns wins.
    """
    lines = _whole_lines(text, dialect)
    dialects = {delimiter: replace(dialect, delimiter=delimiter) for delimiter in DELIMITERS}
    return max(DELIMITERS, key=lambda delimiter: _fitness(lines, dialects[delimiter], text_columns))


def _whole_lines(text: str, dialect: Dialect) -> list[str]:
    """Return the lines of a sample without the last one, which it may cut off."""
    lines = text.split(dialect.line_end)
    return lines[:-1] if len(lines) > 1 else lines


def _records(lines: Iterable[str], dialect: Dialect) -> list[list[str]]:
    """Return the first records that some lines have in a dialect; none if they do not fit."""
    parameters = {**dialect.parameters(), "strict": False}
    reader = csv.reader((line + "\n" for line in lines), **parameters)
    try:
        return [fields for fields in islice(reader, SAMPLE_RECORDS) if fields]
    except csv.Error:
        return []


def _fitness(
    lines: Sequence[str], dialect: Dialect, text_columns: Sequence[str]
) -> tuple[bool, float, int]:
    """Return whether all wanted columns exist, the share of records that agree, and the width."""
    records = _records(lines, dialect)
    if not records:
        return False, 0.0, 0
    has_columns = dialect.header and has_all(records[0], text_columns)
    width = len(records[0])
    if width < 2:
        return has_columns, 0.0, 0
    return has_columns, sum(len(fields) == width for fields in records) / len(records), width
