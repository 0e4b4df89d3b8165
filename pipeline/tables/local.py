"""Finds the local file of a table that is an object in a bucket, or in a ZIP archive."""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePath, PurePosixPath
from zipfile import BadZipFile, ZipFile, ZipInfo

from pipeline.errors import InputError, PipelineError
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, CloudPath
from pipeline.files.regular import open_regular
from pipeline.quoting import listed
from pipeline.tables.contents import refuse_uncompressed
from pipeline.tables.formats import is_table_name

__all__ = ["archived", "is_archive", "local_table", "unpacked"]

DAMAGED = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
"""What reading an archive raises if it is damaged, encrypted, or compressed in an unknown way."""

SMALL = 2**30
MOST_TIMES = 200
"""A table over 1 GiB that is this many times as large as in its archive is not unpacked. Tables of
text shrink to a fifth or a tenth; only a "zip bomb" shrinks to a thousandth."""

SPARE = 2**28
"""Bytes of the disk that must stay free."""


def is_archive(path: PurePath) -> bool:
    """Return whether a name is that of a ZIP archive."""
    return path.suffix.lower() == ".zip"


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Copy the table of an archive to a temporary file; errors name the archive.

    Raises:
        InputError: the archive is damaged, does not hold exactly one table, or holds one that is
            too large.
    """
    with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
        copy = _copied(path, Path(folder))
        try:
            yield copy
        except PipelineError as error:
            error.message = error.message.replace(str(copy), f"{path} ({copy.name})")
            raise


def archived(path: Path) -> list[str]:
    """Return the names of the tables in an archive, without what systems add to it.

    Raises:
        InputError: the archive is damaged.
    """
    with _opened(path) as archive:
        return _tables(archive)


@contextmanager
def _opened(path: Path) -> Iterator[ZipFile]:
    try:
        with open_regular(path) as file, ZipFile(file) as archive:
            yield archive
    except DAMAGED as error:
        refuse_uncompressed(path, "ZIP")
        raise InputError(
            f"{path} cannot be unpacked: {error}.",
            "Unpack it yourself, and give the path of the table.",
        ) from error


def _copied(path: Path, folder: Path) -> Path:
    with _opened(path) as archive:
        tables = _tables(archive)
        if len(tables) != 1:
            found = f"{len(tables)} tables: {listed(tables)}" if tables else "no table"
            raise InputError(
                f"{path} has {found}.", "Unpack it, and give the path of a table or of the folder."
            )
        _check_size(path, archive.getinfo(tables[0]), folder)
        copy = folder / PurePosixPath(tables[0]).name
        with archive.open(tables[0]) as packed, copy.open("wb") as target:
            shutil.copyfileobj(packed, target)
        return copy


def _check_size(path: Path, table: ZipInfo, folder: Path) -> None:
    """Refuse a table that would fill the disk; no more bytes than its stated size are unpacked."""
    size, packed = table.file_size, max(1, table.compress_size)
    holds = f"{path} holds {table.filename!r} with {size:,} bytes"
    if size > SMALL and size > MOST_TIMES * packed:
        raise InputError(
            f"{holds}, {size // packed:,} times as many as in the archive.",
            f"If that is right, unpack it yourself; over {MOST_TIMES} times looks like an attack.",
        )
    free = shutil.disk_usage(folder).free
    if size > free - SPARE:
        raise InputError(
            f"{holds}, and {folder.parent} has {free:,} bytes free.",
            "Free some space, name a larger folder in the variable TMPDIR, or unpack it yourself.",
        )


def _tables(archive: ZipFile) -> list[str]:
    names = [(info.filename, PurePosixPath(info.filename)) for info in archive.infolist()]
    return [  # a name may be there twice
        name
        for name, inner in names
        if is_table_name(inner) and not inner.name.startswith((".", "_"))
        if inner.parts[0] != "__MACOSX"
    ]


@contextmanager
def local_table(given: AnyPath, storage: Storage) -> Iterator[tuple[Path, str | None]]:
    """Yield the file of a table, and the version of the object that it is a copy of.

    The file is temporary if the table is an object or in an archive; errors name what was given.

    Raises:
        InputError: the object or the archive cannot be read.
    """
    if not isinstance(given, CloudPath):
        with unpacked(given) if is_archive(given) else nullcontext(given) as path:
            yield path, None
        return
    with storage.local_copy(given) as (copy, version):
        try:
            with local_table(copy, storage) as (path, _):
                yield path, version
        except PipelineError as error:
            error.message = error.message.replace(str(copy), str(given))
            raise
