"""Finds the local file of a table that is an object in a bucket, or in an archive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pipeline.errors import PipelineError
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, CloudPath
from pipeline.tables.archives import is_archive, unpacked

__all__ = ["local_table"]


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
