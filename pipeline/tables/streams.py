"""Byte streams of files, compressed or not, chosen by the file's suffix."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

import pyarrow as pa

from pipeline.errors import InputError

__all__ = ["compression_of", "open_input", "open_output", "sha256_of", "spooled"]

Compression: TypeAlias = Literal["gzip", "zstd"]

COMPRESSIONS: dict[str, Compression] = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
}

MAGIC = {b"PAR1": ".parquet", b"\x1f\x8b": ".csv.gz", b"\x28\xb5\x2f\xfd": ".csv.zst"}


def compression_of(path: Path) -> Compression | None:
    """Return the compression that a file's last suffix stands for."""
    return COMPRESSIONS.get(path.suffix.lower())


@contextmanager
def open_input(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file's decompressed bytes.

    Raises:
        InputError: the file cannot be opened, or its compressed data are damaged.
    """
    try:
        with pa.input_stream(str(path), compression=compression_of(path)) as stream:
            yield stream
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error}.",
            "Check that it is there, readable and whole.",
        ) from error


def open_output(path: Path, compression: Compression | None) -> pa.NativeFile:
    """Open a file for writing bytes, compressed on the way."""
    return pa.output_stream(str(path), compression=compression)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def spooled(stream: BinaryIO) -> Iterator[Path]:
    """Copy a stream that can be read once to a file that can be read twice.

    The file's suffix says what the first bytes show it to be.
    """
    with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
        first = stream.read(4)
        suffix = next((end for magic, end in MAGIC.items() if first.startswith(magic)), ".csv")
        path = Path(folder) / f"stdin{suffix}"
        with path.open("wb") as file:
            file.write(first)
            shutil.copyfileobj(stream, file)
        yield path
