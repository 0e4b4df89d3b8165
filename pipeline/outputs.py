"""Where an output goes and how it gets there: whole, at once, and never over somebody's file."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import platformdirs
import pyarrow as pa
from filelock import FileLock, Timeout

from pipeline.errors import OutputError
from pipeline.settings import Format
from pipeline.tables import (
    ArrowWriter,
    Reader,
    Writer,
    open_writer,
    sha256_of,
    split_suffixes,
)

__all__ = ["Draft", "FileTarget", "MemoryTarget", "Target", "default_output", "manifest_path"]

Manifest = Mapping[str, Any]


def default_output(source: Path, input_format: Format, output_format: Format) -> Path:
    """Return ``outputs/<stem>.classified.<same format>``, or with the suffix of another format."""
    stem, suffix, compression = split_suffixes(source)
    if input_format != output_format or not suffix:
        suffix, compression = f".{output_format}", ""
    return Path("outputs") / f"{stem}.classified{suffix}{compression}"


def manifest_path(output: Path) -> Path:
    """Return where the manifest of an output stands."""
    return output.with_name(f"{output.name}.manifest.json")


class Draft(Protocol):
    """An output that is being written and is not in its place yet."""

    @property
    def writer(self) -> Writer:
        """What takes the rows."""
        ...

    def commit(self, manifest: Manifest) -> None:
        """Put the output in its place; the writer must be closed."""
        ...


class Target(Protocol):
    """A place for an output."""

    @property
    def path(self) -> Path | None:
        """The file, or None for an output in memory."""
        ...

    def check(self) -> None:
        """Refuse what would fail or do harm at the end, before anything is done.

        Raises:
            OutputError: the place is taken by a file that this tool did not write, or unusable.
        """
        ...

    def draft(
        self, reader: Reader, new_fields: Sequence[pa.Field]
    ) -> AbstractContextManager[Draft]:
        """Open an output; unless it is committed nothing of it stays."""
        ...


@dataclass(slots=True)
class MemoryTarget:
    """An output that stays in memory.

    Attributes:
        table: the enriched table, once committed.
    """

    table: pa.Table = field(default_factory=lambda: pa.table({}))
    path: None = field(default=None, init=False)

    def check(self) -> None:
        """Accept everything."""

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a table in memory."""
        yield _MemoryDraft(self, ArrowWriter(reader.schema, new_fields))


@dataclass(frozen=True, slots=True)
class _MemoryDraft:
    target: MemoryTarget
    writer: ArrowWriter

    def commit(self, manifest: Manifest) -> None:  # noqa: ARG002 - a file keeps it
        self.target.table = self.writer.table


@dataclass(frozen=True, slots=True)
class FileTarget:
    """An output file, with its manifest beside it.

    Attributes:
        path: where the output goes.
        output_format: its format.
        overwrite: whether a file that this tool did not write may be replaced.
        source: the input file, which must not be replaced.
    """

    path: Path
    output_format: Format
    overwrite: bool = False
    source: Path | None = None

    def check(self) -> None:
        """See `Target.check`."""
        if not self.path.exists():
            return
        if not self.path.is_file():
            raise OutputError(f"{self.path} is not a file.", "Name a file: --output PATH.")
        if self.source is not None and self.path.samefile(self.source):
            raise OutputError(f"{self.path} is the input.", "Write to another file: --output PATH.")
        if not self.overwrite and not _written_by_us(self.path):
            raise OutputError(
                f"{self.path} exists, and its manifest does not show that this tool wrote it "
                "and that nobody changed it since.",
                "Replace it anyway with --overwrite, or write elsewhere: --output PATH.",
            )

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a temporary file beside the output; see `Target.draft`.

        Raises:
            OutputError: the file cannot be written, for want of space or of permission.
        """
        place = self.path.resolve()  # a link keeps pointing where it points
        temporary = _temporary(place)
        try:
            with _only_writer(place):
                place.parent.mkdir(parents=True, exist_ok=True)
                writer = open_writer(temporary, place.name, self.output_format, reader, new_fields)
                try:
                    yield _FileDraft(writer, temporary, place)
                except BaseException:
                    with suppress(Exception):
                        writer.abort()
                    raise
                finally:
                    temporary.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(
                f"{self.path} cannot be written: {error.strerror or error}.",
                "Free some space, or write elsewhere: --output PATH.",
            ) from error


@dataclass(frozen=True, slots=True)
class _FileDraft:
    writer: Writer
    temporary: Path
    place: Path

    def commit(self, manifest: Manifest) -> None:
        """Move the manifest and then the output into place.

        The manifest names the output it belongs to and the one that this one replaces, so that
        whichever of them a crash leaves in place is still known as ours.
        """
        _sync(self.temporary)
        hashes = {"sha256": sha256_of(self.temporary), "replaces_sha256": None}
        if self.place.exists():
            hashes["replaces_sha256"] = sha256_of(self.place)
        record = {**manifest, "output": {"path": str(self.place), **hashes}}
        _replace_text(manifest_path(self.place), json.dumps(record, indent=2) + "\n")
        self.temporary.replace(self.place)
        _sync(self.place.parent)


def _temporary(place: Path) -> Path:
    """Return the name that a file has until it is whole.

    It is always the same on one machine, so that what a killed run left is replaced by the next;
    machines that share a folder do not meet in it.
    """
    machine = sha256(platform.node().encode()).hexdigest()[:8]
    return place.with_name(f".{place.name}.{machine}.tmp")


@contextmanager
def _only_writer(place: Path) -> Iterator[None]:
    """Keep other runs on this machine from writing the same output meanwhile.

    Raises:
        OutputError: another run is writing it.
    """
    name = sha256(str(place).encode()).hexdigest()[:16]
    folder = platformdirs.user_state_path("tender-pipeline") / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise OutputError(
            f"Another run is writing {place}.",
            "Wait until it is done, or write elsewhere: --output PATH.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _written_by_us(path: Path) -> bool:
    try:
        output = json.loads(manifest_path(path).read_text("utf-8"))["output"]
        return sha256_of(path) in (output["sha256"], output["replaces_sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _replace_text(path: Path, text: str) -> None:
    temporary = _temporary(path)
    try:
        temporary.write_text(text, "utf-8")
        _sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until the disk has a file or a folder's entries."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
