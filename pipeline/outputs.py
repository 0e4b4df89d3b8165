"""Where an output goes and how it gets there: whole, at once, and never over somebody's file."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from pipeline.errors import OutputError
from pipeline.settings import Format
from pipeline.tables import (
    ArrowWriter,
    Batch,
    NewColumn,
    Reader,
    Writer,
    open_writer,
    sha256_of,
    split_suffixes,
)

__all__ = ["Draft", "FileTarget", "MemoryTarget", "Target", "default_output", "manifest_path"]

Manifest = Mapping[str, Any]

TOOL = "tender-pipeline"
"""What a manifest of ours says wrote it."""

LONGEST_NAME = 255
"""Bytes that a file's name may have on the usual file systems."""


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
        with _translated(self.path):
            place = self.path.resolve()
            if place.is_symlink():  # which Python 3.13 resolves without a word
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            _check_place(place)
            if place.exists():
                self._check_replaceable(place)
            if manifest_path(place).exists() and not self.overwrite and not _manifest(place):
                raise OutputError(
                    f"{manifest_path(place)} exists, and this tool did not write it.",
                    "Move it, replace it with --overwrite, or write elsewhere: --output PATH.",
                )

    def _check_replaceable(self, place: Path) -> None:
        if not place.is_file():
            raise OutputError(f"{self.path} is not a file.", "Name a file: --output PATH.")
        if self.source is not None and place.samefile(self.source):
            raise OutputError(f"{self.path} is the input.", "Write to another file: --output PATH.")
        if not self.overwrite and not _written_by_us(place):
            raise OutputError(
                f"{self.path} exists, and its manifest does not show that this tool wrote it "
                "and that nobody changed it since.",
                "Replace it anyway with --overwrite, or write elsewhere: --output PATH.",
            )

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a temporary file beside the output; see `Target.draft`.

        Raises:
            OutputError: the file cannot be written, or another run is writing it.
        """
        with ExitStack() as stack:
            with _translated(self.path):
                place = self.path.resolve()  # a link keeps pointing where it points
                place.parent.mkdir(parents=True, exist_ok=True)
                temporary = stack.enter_context(_only_writer(place))
                self.check()  # once more: nobody else writes it now
                replaces = sha256_of(place) if place.exists() else None
                writer = open_writer(temporary, place.name, self.output_format, reader, new_fields)
            try:
                yield _FileDraft(_Writing(writer, self.path), temporary, place, replaces)
            except BaseException:
                with suppress(Exception):
                    writer.abort()
                raise


@dataclass(slots=True)
class _Writing:
    """A writer whose errors are told as errors of the output."""

    writer: Writer
    path: Path

    @property
    def replaced_characters(self) -> int:
        return self.writer.replaced_characters

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        with _translated(self.path):
            self.writer.write(batch, columns)

    def close(self, metadata: dict[str, str]) -> None:
        with _translated(self.path):
            self.writer.close(metadata)

    def abort(self) -> None:
        self.writer.abort()


@dataclass(frozen=True, slots=True)
class _FileDraft:
    writer: _Writing
    temporary: Path
    place: Path
    replaces: str | None

    def commit(self, manifest: Manifest) -> None:
        """Move the manifest and then the output into place.

        The manifest names the output it belongs to and the one that this one replaces, so that
        whichever of them a crash leaves in place is still known as ours.
        """
        with _translated(self.place):
            _sync(self.temporary)
            self._check_unchanged()
            hashes = {"sha256": sha256_of(self.temporary), "replaces_sha256": self.replaces}
            record = {**manifest, "output": {"path": os.fspath(self.place), **hashes}}
            _replace_text(manifest_path(self.place), json.dumps(record, indent=2) + "\n")
            self.temporary.replace(self.place)
            _sync(self.place.parent)

    def _check_unchanged(self) -> None:
        found = sha256_of(self.place) if self.place.exists() else None
        if found is not None and found != self.replaces:
            raise OutputError(
                f"{self.place} was written by somebody else while the job ran; it is kept.",
                "Move it and run the same command again, or write elsewhere: --output PATH.",
            )


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:  # a full disk, a loop of links, a NUL
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise OutputError(
            f"{path} cannot be written: {reason}.",
            "Check the path, its permissions and the free space, or write elsewhere: "
            "--output PATH.",
        ) from error


def _check_place(place: Path) -> None:
    """Find out before the work what would fail behind it: names, folders, permissions."""
    if len(os.fsencode(_temporary(manifest_path(place)).name)) > LONGEST_NAME:
        raise OutputError(f"The name {place.name!r} is too long.", "Choose another: --output PATH.")
    if manifest_path(place).is_dir():
        raise OutputError(f"{manifest_path(place)} is a folder.", "Write elsewhere: --output PATH.")
    folder = next(folder for folder in place.parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(
            f"Nothing can be written in {folder}.",
            "Make it a folder that you may write in, or write elsewhere: --output PATH.",
        )


def _temporary(place: Path) -> Path:
    """Return the name that a file has until it is whole.

    It is always the same on one machine, so that what a killed run left is replaced by the next;
    machines that share a folder do not meet in it.
    """
    machine = sha256(platform.node().encode()).hexdigest()[:8]
    return place.with_name(f".{place.name}.{machine}.tmp")


@contextmanager
def _only_writer(place: Path) -> Iterator[Path]:
    """Make the temporary file of an output and keep other runs on this machine from it.

    Raises:
        OutputError: another run is writing the same output.
    """
    temporary = _temporary(place)
    descriptor = _locked(temporary, place)
    try:
        if place.exists():
            os.fchmod(descriptor, stat.S_IMODE(place.stat().st_mode))
        yield temporary
    finally:
        if _is_open_as(descriptor, temporary):
            temporary.unlink()
        os.close(descriptor)


def _locked(temporary: Path, place: Path) -> int:
    """Open the file and lock it; another run may have moved it away in between."""
    while True:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise OutputError(
                f"Another run is writing {place}.",
                "Wait until it is done, or write elsewhere: --output PATH.",
            ) from error
        if _is_open_as(descriptor, temporary):
            return descriptor
        os.close(descriptor)


def _is_open_as(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _manifest(place: Path) -> dict[str, Any]:
    """Return the manifest of an output, empty if there is none of ours."""
    try:
        manifest = json.loads(manifest_path(place).read_text("utf-8"))
        return manifest if manifest["tool"] == TOOL else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _written_by_us(place: Path) -> bool:
    output = _manifest(place).get("output")
    known = output.values() if isinstance(output, dict) else ()
    return sha256_of(place) in known


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
