"""Opens files as byte streams, decompressing or compressing them by their suffix."""

from __future__ import annotations

import codecs
import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.files.regular import open_regular
from pipeline.tables.contents import SAMPLE_BYTES, contents_of, is_json_list, refuse_uncompressed

__all__ = [
    "FileReader",
    "compression_of",
    "described_encodings",
    "is_utf_8",
    "not_utf_8",
    "open_input",
    "open_output",
    "sha256_of",
    "spooled",
]

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
        f"{path} cannot be read: {error}.",
        "Check that it exists, is readable and complete.",
    )
