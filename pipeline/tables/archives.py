"""Unpacks the one table of a ZIP archive."""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath, PurePosixPath
from zipfile import BadZipFile, ZipFile

from pipeline.errors import InputError, PipelineError
from pipeline.files.regular import open_regular
from pipeline.quoting import listed
from pipeline.tables.formats import has_table_suffix

__all__ = ["archived", "is_archive", "unpacked"]

DAMAGED = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
"""What an archive raises that is damaged, encrypted, or compressed in an unknown way."""


def is_archive(path: PurePath) -> bool:
    """Tell whether a name is that of a ZIP archive."""
    return path.suffix.lower() == ".zip"


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Copy the table of an archive to a temporary file; errors name the archive.

    Raises:
        InputError: the archive is damaged, or does not hold exactly one table.
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
        copy = folder / PurePosixPath(tables[0]).name
        with archive.open(tables[0]) as packed, copy.open("wb") as target:
            shutil.copyfileobj(packed, target)
        return copy


def _tables(archive: ZipFile) -> list[str]:
    names = {info.filename: PurePosixPath(info.filename) for info in archive.infolist()}
    return [
        name
        for name, inner in names.items()
        if has_table_suffix(inner) and not inner.name.startswith((".", "_"))
        if inner.parts[0] != "__MACOSX"
    ]
