"""CSV files of every make, written here without the csv module, for the round trips."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from pipeline.errors import InputError
from pipeline.settings import CsvOptions, LineEnd
from pipeline.tables.csv_table import CsvReader

PLAIN = ["a", "B", "7", " ", ".", "'", "\t", "\0", "\x0b", "\x1c"]
LATIN = ["é", "ß", "£", "\xa0", "ÿ", "þ"]
WIDE = ["ł", "あ", "🙂", "\u2028", "\x85", "\u200b"]


@dataclass(frozen=True)
class Coding:
    """An encoding: what the options state, the codec that writes it, its byte order mark."""

    stated: str | None
    codec: str
    mark: bytes
    letters: Sequence[str]


CODINGS = [
    Coding(None, "utf-8", b"", LATIN + WIDE),
    Coding(None, "utf-8", codecs.BOM_UTF8, LATIN + WIDE),
    Coding("utf-8-sig", "utf-8", codecs.BOM_UTF8, LATIN + WIDE),
    Coding("cp1252", "cp1252", b"", [*LATIN, "€", "“"]),
    Coding("latin-1", "latin-1", b"", [*LATIN, "\x85"]),
    Coding("shift_jis", "shift_jis", b"", ["あ", "ソ", "ｱ"]),
    Coding("gb18030", "gb18030", b"", LATIN + WIDE),
    Coding("iso2022_jp", "iso2022_jp", b"", ["あ", "漢"]),
    Coding(None, "utf-16-le", codecs.BOM_UTF16_LE, LATIN + WIDE),
    Coding("utf-16", "utf-16-be", codecs.BOM_UTF16_BE, LATIN + WIDE),
    Coding("utf-16-le", "utf-16-le", b"", LATIN + WIDE),
    Coding(None, "utf-32-le", codecs.BOM_UTF32_LE, LATIN + WIDE),
]

LINE_ENDS: list[tuple[LineEnd, list[str]]] = [
    ("lf", ["\n"]),
    ("crlf", ["\r\n"]),
    ("cr", ["\r"]),
    ("lf", ["\n", "\r\n"]),
]


@dataclass(frozen=True)
class CsvFile:
    """The bytes of a CSV file, and its content.

    Attributes:
        records: the cells of every record, the header's first if there is one.
        blanks: what stands before each record, and behind the last one, that is no record.
        ends: the line end of each record.
    """

    records: list[list[str]]
    blanks: list[str]
    ends: list[str]
    quote_all: bool
    coding: Coding
    options: CsvOptions
    suffix: str

    @property
    def delimiter(self) -> str:
        return self.options.delimiter or ","

    @property
    def rows(self) -> list[list[str]]:
        return self.records[1:] if self.options.header else self.records

    @property
    def names(self) -> list[str]:
        first = self.records[0]
        return first if self.options.header else [str(place + 1) for place in range(len(first))]

    def content_with(self, more: Sequence[str]) -> bytes:
        """Return the bytes before compression, with something behind each record."""
        records = zip(self.blanks[:-1], self.records, more, self.ends, strict=True)
        parts = [
            blank + self.delimiter.join(map(self._cell, cells)) + new + end
            for blank, cells, new, end in records
        ]
        text = "".join(parts) + self.blanks[-1]
        return self.coding.mark + text.encode(self.coding.codec)

    @property
    def content(self) -> bytes:
        """The bytes before compression."""
        return self.content_with([""] * len(self.records))

    @property
    def data(self) -> bytes:
        return compressed(self.content, self.suffix)

    def _cell(self, cell: str) -> str:
        backslash = self.options.quote_escape == "backslash"
        special = {self.delimiter, '"', "\r", "\n"} | ({"\\"} if backslash else set())
        alone = len(self.records[0]) == 1 and not cell.strip()
        if not (self.quote_all or alone or special & set(cell)):
            return cell
        if backslash:
            return '"' + cell.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return '"' + cell.replace('"', '""') + '"'


def compressed(data: bytes, suffix: str) -> bytes:
    match suffix:
        case ".gz":
            return gzip.compress(data, compresslevel=1)
        case ".zst":
            return bytes(pa.compress(data, codec="zstd", asbytes=True))
        case _:
            return data


def decompressed(data: bytes, suffix: str) -> bytes:
    if not suffix:
        return data
    with pa.input_stream(
        pa.BufferReader(data), compression={".gz": "gzip", ".zst": "zstd"}[suffix]
    ) as stream:
        return bytes(stream.read())


def cell_texts(coding: Coding) -> st.SearchStrategy[str]:
    """Return cells of what gives CSV trouble, in letters that the encoding has."""
    trouble = ['"', "\n", "\r", "\r\n", ",", ";", "\t", "|", "\\"]
    pieces = st.sampled_from([*trouble, *PLAIN, *coding.letters])
    return st.one_of(st.just(""), st.lists(pieces, max_size=6).map("".join))


@st.composite
def csv_files(draw: st.DrawFn, header: bool | None = None) -> CsvFile:
    coding = draw(st.sampled_from(CODINGS))
    width = draw(st.integers(1, 4))
    cells = cell_texts(coding)
    records = draw(
        st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=7)
    )
    line_end, line_ends = draw(st.sampled_from(LINE_ENDS))
    end = st.sampled_from(line_ends)
    blank = st.lists(st.tuples(st.sampled_from(["", "", "  "]), end).map("".join), max_size=2)
    blanks = st.one_of(st.just(""), blank.map("".join))
    ends = [draw(end) for _ in records]
    before = [draw(blanks) for _ in records]
    last = draw(blanks)
    if not last and draw(st.booleans()):
        ends[-1] = ""
    file = CsvFile(
        records=records,
        blanks=[*before, last],
        ends=ends,
        quote_all=draw(st.booleans()),
        coding=coding,
        options=CsvOptions(
            delimiter=draw(st.sampled_from([",", ";", "\t", "|"])),
            encoding=coding.stated,
            line_end=draw(st.sampled_from([None, line_end])),
            quote_escape=draw(st.sampled_from(["double", "backslash"])),
            header=draw(st.booleans()) if header is None else header,
        ),
        suffix=draw(st.sampled_from(["", "", ".gz", ".zst"])),
    )
    # UTF-16's mark and a NUL are UTF-32's mark.
    assume(coding.mark != codecs.BOM_UTF16_LE or not file.content[2:].startswith(b"\0\0"))
    # With NULs in its first line, UTF-8 may be UTF-16 without a mark.
    assume(coding.stated or coding.mark or file.content[:1000].partition(b"\n")[0].count(0) < 2)
    return file


def opened(path: Path, data: bytes, *text_columns: str, **options: Any) -> CsvReader:
    path.write_bytes(data)
    return CsvReader(path, text_columns, CsvOptions(**options))


def error_of(path: Path, data: bytes, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        list(opened(path, data, **options).batches())
    return caught.value
