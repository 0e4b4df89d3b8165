"""Opens files as byte streams, and recognises what they hold by their first bytes."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.files.regular import open_regular
from pipeline.wording import read_as

__all__ = [
    "SAMPLE_BYTES",
    "FileReader",
    "compression_of",
    "contents_of",
    "described_encodings",
    "is_json_list",
    "is_utf_8",
    "not_utf_8",
    "open_input",
    "open_output",
    "refuse_other_contents",
    "refuse_uncompressed",
    "sha256_of",
    "spooled",
]

SAMPLE_BYTES = 64 * 1024
"""How much of a file's beginning shows what it is."""

Kind: TypeAlias = Literal[
    "CSV",
    "Parquet",
    "gzip",
    "zstd",
    "other compression",
    "Excel",
    "Git LFS",
    "UTF-16",
    "OLE",
    "PDF",
    "HTML",
    "JSON",
    "JSON list",
    "JSON Lines",
    "OCDS",
]


@dataclass(frozen=True, slots=True)
class Contents:
    """A kind of file that is not CSV.

    Attributes:
        kind: its name in the code.
        suffix: the suffix that its name should have; "" if this tool cannot read it.
        words: its name in messages.
        hint: what to do with it.
        magic: what its first bytes may be; none if they do not tell its kind.
    """

    kind: Kind
    suffix: str
    words: str
    hint: str
    magic: tuple[bytes, ...] = ()


# A CSV file may have a column named PAR1; the fifth byte of Parquet begins a structure.
KNOWN = (
    Contents(
        "Parquet",
        ".parquet",
        "a Parquet file",
        f"{read_as('parquet')} it to end in .parquet.",
        (b"PAR1\x15",),
    ),
    Contents(
        "gzip",
        ".csv.gz",
        "data compressed with gzip",
        "Decompress it first; if it holds CSV, rename it to end in .csv.gz.",
        (b"\x1f\x8b",),
    ),
    Contents(
        "zstd",
        ".csv.zst",
        "data compressed with zstd",
        "Decompress it first; if it holds CSV, rename it to end in .csv.zst.",
        (b"\x28\xb5\x2f\xfd",),
    ),
    *(
        Contents(
            "other compression",
            "",
            f"data compressed with {name}",
            "Decompress it first, or compress it with gzip or zstd.",
            magics,
        )
        for name, magics in (
            ("bzip2", tuple(b"BZh%d1AY&SY" % level for level in range(1, 10))),
            ("xz", (b"\xfd7zXZ\x00",)),
            ("7-Zip", (b"7z\xbc\xaf\x27\x1c",)),
        )
    ),
    Contents(
        "Excel",
        ".xlsx",
        "an Excel workbook or another ZIP archive",
        f"{read_as('xlsx')} it to end in .xlsx (in .zip if it is an archive).",
        (b"PK\x03\x04",),
    ),
    Contents(
        "OLE",
        "",
        "an old (.xls) or a protected Excel workbook",
        "Save it as .xlsx, without a password.",
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
    ),
    Contents(
        "Git LFS",
        "",
        "a Git LFS pointer to the table",
        "Download the table itself: git lfs pull.",
        (b"version https://git-lfs",),
    ),
    Contents(
        "UTF-16",
        ".csv",
        "text in UTF-16",
        "Convert it: iconv -f utf-16 -t utf-8 FILE > NEW.",
        (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    ),
    Contents("PDF", "", "a PDF document", "Export the table as CSV or Excel.", (b"%PDF-",)),
    Contents(
        "HTML",
        "",
        "a web page",
        "Download the table itself; perhaps the page is for logging in, or says what failed.",
        (b"<!DOCTYPE html", b"<!doctype html", b"<html"),
    ),
)

JSON = Contents(
    "JSON",
    "",
    "JSON",
    "Write each row on a line, or take out the list of the rows, such as results: jq .results FILE "
    "> ROWS.json.",
)
JSON_LIST = Contents(
    "JSON list",
    ".json",
    "a JSON list",
    f"{read_as('jsonl')} it to end in .json.",
)
JSON_LINES = Contents(
    "JSON Lines",
    ".jsonl",
    "JSON Lines",
    f"{read_as('jsonl')} it to end in .jsonl.",
)
OCDS = Contents(
    "OCDS",
    ".json",
    "OCDS data",
    f"{read_as('ocds')} it to end in .json.",
)

PACKAGE = re.compile(rb'"(?:releases|records)"\s*:\s*\[')
RELEASE = re.compile(rb'"(?:tag|tender|awards|contracts|compiledRelease|releases)"\s*:\s*[{\[]')
OCID = re.compile(rb'"ocid"\s*:\s*"')
ABOUT = re.compile(rb'"(?:publishedDate|publisher|publicationPolicy)"\s*:')
"""Members of OCDS packages and releases."""


def contents_of(first: bytes) -> Contents | None:
    """Return the kind of a file by its first bytes; None for CSV and unknown kinds."""
    return _by_magic(first) or _json_contents(first)


def is_json_list(first: bytes) -> bool:
    """Return whether a file begins like one list of JSON objects, or is an empty list.

    `contents_of` does not tell the latter: CSV may have a column named [].
    """
    found = contents_of(first)
    is_empty = b"".join(first.removeprefix(codecs.BOM_UTF8).split()) == b"[]"
    return is_empty or (found is not None and found.kind == "JSON list")


def refuse_other_contents(path: Path, wanted: Kind, first: bytes | None = None) -> None:
    """Refuse a file that is recognised as another kind than the wanted one.

    Without its first bytes, decompressed, they are read from the file. Any JSON may be OCDS, which
    names what is wrong with it better.

    Raises:
        InputError: the file is of another kind.
    """
    found = contents_of(_first_of(path) if first is None else first)
    if found is None or found.kind == wanted or (found.kind, wanted) == ("UTF-16", "CSV"):
        return
    if found.magic or wanted != "OCDS":
        raise InputError(f"{path} holds {found.words}, not {wanted}.", found.hint)


def refuse_uncompressed(path: Path, wanted: Literal["gzip", "zstd", "ZIP"]) -> None:
    """Refuse a file that is not compressed as its suffix says; a damaged one passes.

    Raises:
        InputError: its first bytes are others.
    """
    first = _first_of(path)
    found = _by_magic(first)
    if not first or (found and found.kind == ("Excel" if wanted == "ZIP" else wanted)):
        return
    if found:
        raise InputError(f"{path} holds {found.words}, no {wanted} data.", found.hint)
    inner = Path(path.stem).suffix or ".csv"
    raise InputError(
        f"{path} holds no {wanted} data, although its name ends in {path.suffix}.",
        f"If it is not compressed, rename it to end in {inner}, without {path.suffix}.",
    )


def _by_magic(first: bytes) -> Contents | None:
    return next((known for known in KNOWN if first.startswith(known.magic)), None)


def _first_of(path: Path) -> bytes:
    with suppress(OSError), open_regular(path) as file:
        return file.read(SAMPLE_BYTES)
    return b""


def _json_contents(first: bytes) -> Contents | None:
    """Return what a file is that begins with a JSON object or a list of objects.

    The first cell of a CSV file may be an object too, so a line that continues after it is CSV.
    """
    begin = first.removeprefix(codecs.BOM_UTF8).lstrip()
    if not begin.startswith((b"{", b"[")):
        return None
    is_ocds = _is_ocds(begin)
    if begin.startswith(b"{") and is_ocds:
        return OCDS
    line = begin.splitlines()[0].rstrip()
    bare = line.replace(b" ", b"")
    if bare == b"[" or bare.startswith(b"[{"):
        return OCDS if is_ocds else JSON_LIST
    if bare == b"{":
        return JSON
    try:
        return JSON_LINES if isinstance(json.loads(line), dict) else None
    except json.JSONDecodeError as error:
        cut_off = line == begin.rstrip() and not error.msg.startswith("Extra data")
        return JSON_LINES if cut_off and bare.startswith(b'{"') else None
    except (ValueError, RecursionError):  # not UTF-8, or nested a thousand times
        return None


def _is_ocds(begin: bytes) -> bool:
    """Return whether an object is an OCDS package, release or record, by its first members."""
    package = PACKAGE.search(begin) and (OCID.search(begin) or ABOUT.search(begin))
    return bool(package or (OCID.search(begin) and RELEASE.search(begin)))


ENCODINGS = ("cp1252", "latin1", "cp1250", "cp1251")
"""Encodings of tables that are not UTF-8: those of Windows for Western, Central and Eastern Europe,
and latin1, which reads everything."""

CHUNK_BYTES = 1 << 20

Compression: TypeAlias = Literal["gzip", "zstd"]

COMPRESSIONS: dict[str, Compression] = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
}


def compression_of(path: Path) -> Compression | None:
    """Return the compression of a file's last suffix, None without one."""
    return COMPRESSIONS.get(path.suffix.lower())


@contextmanager
def open_input(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file for reading its decompressed bytes.

    Python opens it, since Arrow accepts only UTF-8 names.

    Raises:
        InputError: the file cannot be opened, or its compressed data is damaged or missing.
    """
    try:
        with (
            open_regular(path) as file,
            pa.input_stream(file, compression=compression_of(path)) as stream,
        ):
            yield stream
    except OSError as error:
        if wanted := compression_of(path):
            refuse_uncompressed(path, wanted)
        raise _unreadable(path, error) from error


@contextmanager
def open_output(path: Path, compression: Compression | None) -> Iterator[pa.NativeFile]:
    """Open a file for writing bytes, compressing them."""
    with path.open("wb") as file, pa.output_stream(file, compression=compression) as stream:
        yield stream


class FileReader:
    """A table in a file, which may change while it is read; see `pipeline.tables.table.Reader`.

    Attributes:
        opened_fingerprint: the SHA-256 of the file's bytes when it was opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.opened_fingerprint = self.fingerprint()

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file's current bytes.

        Raises:
            InputError: the file can no longer be read.
        """
        try:
            return sha256_of(self._path)
        except OSError as error:
            raise _unreadable(self._path, error) from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal text."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def spooled(stream: BinaryIO) -> Iterator[Path]:
    """Copy standard input, which can be read only once, to a temporary file.

    The file's suffix follows from its first bytes, decompressed.

    Raises:
        InputError: there is no room for the copy.
    """
    with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
        copy = Path(folder) / "stdin"
        try:
            with copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
        except OSError as error:
            raise InputError(
                f"Standard input cannot be copied to {copy.parent.parent}: {error.strerror}.",
                "Free some space, or name a larger folder in the variable TMPDIR.",
            ) from error
        path = copy.with_name(f"stdin{_suffix_of(copy)}")
        copy.rename(path)
        yield path


def _suffix_of(path: Path) -> str:
    """Return the suffix that the name of a file should have."""
    with path.open("rb") as file:
        first = file.read(SAMPLE_BYTES)
    found = contents_of(first)
    if found is None or found.kind not in ("gzip", "zstd"):
        return _table_suffix(first)
    try:
        with pa.input_stream(pa.BufferReader(first), compression=found.kind) as stream:
            first = stream.read(SAMPLE_BYTES)
    except OSError:  # damaged, as opening the file will show; or cut off at the sample
        first = b""
    return f"{_table_suffix(first)}{'.gz' if found.kind == 'gzip' else '.zst'}"


def _table_suffix(first: bytes) -> str:
    if is_json_list(first):
        return ".json"
    found = contents_of(first)
    return (found and found.suffix) or ".csv"


def is_utf_8(path: Path) -> bool:
    """Return whether all of a file can be read as UTF-8."""
    return "utf-8" in _readable_as(path, ["utf-8"])


def described_encodings(path: Path, byte: int) -> tuple[str, str]:
    """Return the likeliest encoding that reads all of a file, and a sentence about all that do.

    The sentence says what each makes of a byte, which is not UTF-8.
    """
    names = _readable_as(path, ENCODINGS)
    if "cp1252" in names:
        names.remove("latin1")  # it has controls where the other one has characters
    made = [f"{name} {bytes([byte]).decode(name, 'replace')!r}" for name in names]
    return names[0], f"Encodings that read the whole file, and the byte in them: {', '.join(made)}."


def _readable_as(path: Path, encodings: Sequence[str]) -> list[str]:
    """Return those of some encodings in which all bytes of a file are valid."""
    decoders = {name: codecs.getincrementaldecoder(name)() for name in encodings}
    with open_input(path) as stream:
        chunk = b"-"
        while chunk:
            chunk = stream.read(CHUNK_BYTES)
            for name, decoder in [*decoders.items()]:
                try:
                    decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError:
                    del decoders[name]
    return [*decoders]


def not_utf_8(path: Path, place: str, error: UnicodeDecodeError) -> InputError:
    """Return the error about a byte of a JSON file, which must be UTF-8."""
    byte = error.object[error.start]
    encoding, readable = described_encodings(path, byte)
    return InputError(
        f"{place}: byte 0x{byte:02X} is not UTF-8.",
        f"Convert the file, since JSON is UTF-8: iconv -f {encoding} -t utf-8 FILE > NEW. "
        f"{readable}",
    )


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"{path} cannot be read: {error}.", "Check that it exists, is readable and complete."
    )
