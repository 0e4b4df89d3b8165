"""Knows files of other kinds by their first bytes, and says what to do with them."""

from __future__ import annotations

import codecs
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pipeline.errors import InputError
from pipeline.files.regular import open_regular

__all__ = ["FIRST_BYTES", "Contents", "contents_of", "refuse_other_contents"]

FIRST_BYTES = 8

Kind: TypeAlias = Literal["CSV", "Parquet", "gzip", "zstd", "zip", "OLE", "JSON"]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file that is not CSV holds.

    Attributes:
        kind: its name here.
        magic: the bytes that it begins with.
        suffix: what its name should end in, or "" where this tool cannot read it.
        words: what it is called in a message.
        hint: what to do with it.
    """

    kind: Kind
    magic: bytes
    suffix: str
    words: str
    hint: str


# The fifth byte of Parquet begins a structure; a CSV file may have a column named PAR1.
KNOWN = (
    Contents(
        "Parquet",
        b"PAR1\x15",
        ".parquet",
        "a Parquet file",
        "Say so: --input-format parquet, or give it a name that ends in .parquet.",
    ),
    Contents(
        "gzip",
        b"\x1f\x8b",
        ".csv.gz",
        "data compressed with gzip",
        "Decompress it first, or give CSV in it a name that ends in .csv.gz.",
    ),
    Contents(
        "zstd",
        b"\x28\xb5\x2f\xfd",
        ".csv.zst",
        "data compressed with zstd",
        "Decompress it first, or give CSV in it a name that ends in .csv.zst.",
    ),
    Contents(
        "zip",
        b"PK\x03\x04",
        "",
        "an Excel workbook or another ZIP archive",
        "Save the sheet as CSV, or unpack the archive, first.",
    ),
    Contents(
        "OLE",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "",
        "an old Excel workbook (.xls)",
        "Save the sheet as CSV first.",
    ),
)


JSON = Contents(
    "JSON",
    b"",
    "",
    "JSON",
    "Convert the file first, with pandas for example: pandas.read_json(FILE, lines=True)"
    ".to_parquet(FILE.parquet); without lines=True if it is one list.",
)


def contents_of(first: bytes) -> Contents | None:
    """Return what a file holds whose first bytes are these; None for CSV and unknown ones."""
    return next((known for known in KNOWN if first.startswith(known.magic)), None)


def refuse_other_contents(path: Path, wanted: Kind, first: bytes | None = None) -> None:
    """Refuse a file that is known to be of another kind than the wanted one.

    Args:
        path: the file.
        wanted: what it should be.
        first: its first bytes, once decompressed; None: read them.

    Raises:
        InputError: it is of another kind.
    """
    if first is None:
        first = b""
        with suppress(OSError), open_regular(path) as file:
            first = file.read(FIRST_BYTES)
    found = contents_of(first) or (JSON if _is_json(first) else None)
    if found is not None and found.kind != wanted:
        raise InputError(f"{path} holds {found.words}, not {wanted}.", found.hint)


def _is_json(first: bytes) -> bool:
    """Tell whether a file begins with an object of JSON, or a list of some.

    The first cell of a CSV file may be an object too, so a line with more behind it is CSV.
    """
    begin = first.removeprefix(codecs.BOM_UTF8).lstrip()
    if not begin.startswith((b"{", b"[")):
        return False
    line = begin.splitlines()[0].rstrip()
    bare = line.replace(b" ", b"")
    if bare in (b"{", b"[") or bare.startswith(b"[{"):
        return True
    try:
        return isinstance(json.loads(line), dict)
    except json.JSONDecodeError as error:
        cut_off = line == begin.rstrip() and not error.msg.startswith("Extra data")
        return cut_off and bare.startswith(b'{"')
    except (ValueError, RecursionError):  # not UTF-8, or nested a thousand times
        return False
