"""Reads and writes objects in cloud buckets as whole files, with pyarrow's file systems."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

from pipeline.errors import InputChangedError, InputError, OutputError
from pipeline.files.paths import CloudPath
from pipeline.files.stores import explained, opened

__all__ = ["Storage"]

Found = TypeVar("Found")

log = logging.getLogger("pipeline")

CHUNK = 16 * 2**20
"""How much of an object is read at once, bytes: each chunk is a request."""


@dataclass(frozen=True)
class Storage:
    """Access to buckets, with credentials from the usual places of each store.

    Attributes:
        endpoint_url: the address of an S3-compatible server; None for the one that
            ``AWS_ENDPOINT_URL`` names, or Amazon's.
    """

    endpoint_url: str | None = None
    _systems: dict[tuple[str, str], tuple[Any, str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def kind(self, path: CloudPath) -> Literal["file", "folder"] | None:
        """Return what is at an address; None for nothing.

        Raises:
            InputError: the store cannot be asked.
        """
        from pyarrow.fs import FileType

        kinds: dict[Any, Literal["file", "folder"]]
        kinds = {FileType.File: "file", FileType.Directory: "folder"}
        with self._asked(path) as (files, place):
            return kinds.get(files.get_file_info(place).type)

    def files(self, folder: CloudPath) -> list[CloudPath]:
        """Return the objects in a folder and in the folders below, in order.

        Raises:
            InputError: the store cannot be asked.
        """
        from pyarrow.fs import FileSelector, FileType

        with self._asked(folder) as (files, place):
            found = files.get_file_info(FileSelector(place, recursive=True))
        paths = sorted(info.path for info in found if info.type == FileType.File)
        return [folder / PurePosixPath(path).relative_to(place) for path in paths]

    def version(self, path: CloudPath) -> str | None:
        """Return what identifies the content of an object; None if there is no object.

        It is the entity tag, which changes when the object is written.

        Raises:
            InputError: the store cannot be asked.
        """
        return self._opened(path, _version)

    def read(self, path: CloudPath) -> bytes | None:
        """Return the content of a small object; None if there is no object.

        Raises:
            InputError: it cannot be read.
        """
        return self._opened(path, lambda file: bytes(file.read()))

    def _opened(self, path: CloudPath, find: Callable[[Any], Found]) -> Found | None:
        with self._asked(path) as (files, place):
            try:
                with files.open_input_file(place) as file:
                    return find(file)
            except FileNotFoundError:
                return None

    @contextmanager
    def local_copy(self, path: CloudPath) -> Iterator[tuple[Path, str]]:
        """Copy an object to a temporary file; yield the file, and the version of the object.

        Raises:
            InputError: there is no such object, or it cannot be read to its end.
            InputChangedError: it changed while it was read.
        """
        with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
            copy = Path(folder) / path.name
            yield copy, self._download(path, copy)

    def _download(self, path: CloudPath, copy: Path) -> str:
        with (
            self._asked(path) as (files, place),
            files.open_input_file(place) as file,
            copy.open("wb") as local,
        ):
            version = _version(file)
            log.info("%s: reading %s bytes", path, f"{file.size():,}")
            shutil.copyfileobj(file, local, CHUNK)
        if self.version(path) != version:
            raise InputChangedError(
                f"{path} changed while it was being read; nothing was done.",
                "Run the same command again.",
            )
        return version

    def upload(self, source: Path, path: CloudPath) -> str:
        """Replace an object by a local file in one step, and return its version.

        Raises:
            OutputError: the object cannot be written; an older one is still there.
        """
        import pyarrow as pa

        with pa.memory_map(os.fspath(source)) as file:
            return self.write(file.read_buffer(), path)

    def write(self, content: Any, path: CloudPath) -> str:
        """Replace an object by bytes, or by a buffer; see `upload`."""
        with self._asked(path, OutputError) as (files, place):
            stream = files.open_output_stream(place)
            # All at once: an interrupt between two writes would leave half an object, because
            # pyarrow completes it also when the stream is only deleted, unless a write failed.
            stream.write(content)
            stream.close()
            with files.open_input_file(place) as file:
                return _version(file)

    def delete(self, path: CloudPath) -> None:
        """Delete an object.

        Raises:
            OutputError: it cannot be deleted.
        """
        with self._asked(path, OutputError) as (files, place):
            files.delete_file(place)

    @contextmanager
    def _asked(
        self, path: CloudPath, kind: type[InputError | OutputError] = InputError
    ) -> Iterator[tuple[Any, str]]:
        """Yield the file system of an address and the path in it, and translate its errors."""
        import pyarrow as pa

        what = "written" if kind is OutputError else "read"
        try:
            files, root = self._system(path)
            try:
                yield files, "/".join([root, path.key]).rstrip("/")
            except FileNotFoundError:
                _check_there(files, root)
                raise
        except (OSError, ValueError, pa.ArrowException) as error:
            reason, hint = explained(error, path.scheme)
            raise kind(f"{path} cannot be {what}: {reason}.", hint) from error

    def _system(self, path: CloudPath) -> tuple[Any, str]:
        """Return the file system of a bucket, and the bucket's path in it."""
        place = path.scheme, path.bucket
        if place not in self._systems:
            self._systems[place] = opened(*place, self.endpoint_url)
        return self._systems[place]


def _version(file: Any) -> str:
    """Return the entity tag of an open object."""
    facts = {name.lower(): value for name, value in file.metadata().items()}
    return str(facts["etag"].decode().strip('"'))


def _check_there(files: Any, bucket: str) -> None:
    """Raise another error than that an object is missing if its bucket is."""
    from pyarrow.fs import FileType

    if files.get_file_info(bucket).type == FileType.NotFound:
        raise OSError("NO_SUCH_BUCKET")
