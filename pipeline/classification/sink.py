"""Output destinations: written atomically, and never over the user's own files."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from pipeline.classification.provenance import (
    PathType,
    check_replaceable,
    has_manifest,
    holds_full_table,
    manifest_path,
    written_by_us,
)
from pipeline.classification.writing import Writing
from pipeline.errors import OutputError
from pipeline.files.atomic import check_place, only_writer, replace_text, sync, translated
from pipeline.files.paths import AnyPath
from pipeline.settings import Format
from pipeline.tables import (
    ArrowWriter,
    Batch,
    Reader,
    Writer,
    checked,
    open_writer,
    sha256_of,
    split_suffixes,
)

__all__ = ["Draft", "FileSink", "MemorySink", "Sink", "default_output", "partial_path"]

Manifest = Mapping[str, Any]

log = logging.getLogger(__name__)


def default_output(
    source: Path, input_format: Format, output_format: Format, limit_rows: int | None
) -> Path:
    """Return the default path of an output.

    It is ``outputs/<stem>.classified.<format>``, or ``outputs/<stem>.classified.sample-N.<format>``
    for a sample of N rows.
    """
    stem, suffix, compression = split_suffixes(source)
    if input_format != output_format or not suffix:
        suffix, compression = ".json" if output_format == "ocds" else f".{output_format}", ""
    sample = "" if limit_rows is None else f".sample-{limit_rows}"
    return Path("outputs") / f"{stem}.classified{sample}{suffix}{compression}"


def partial_path(path: PathType) -> PathType:
    """Return the path of the incomplete table beside an output."""
    stem, suffix, compression = split_suffixes(path)
    return path.with_name(f"{stem}.partial{suffix}{compression}")


class Draft(Protocol):
    """An output that is being written and has not been committed."""

    @property
    def writer(self) -> Writer:
        """Writes the rows."""
        ...

    def commit(self, manifest: Manifest) -> None:
        """Put the output in place; the writer must be closed."""
        ...


class Sink(Protocol):
    """A place for an output."""

    @property
    def path(self) -> AnyPath | None:
        """The file or the object, or None for an output in memory."""
        ...

    @property
    def partial(self) -> Sink:
        """The sink for the incomplete table when the job parks."""
        ...

    @property
    def keeps_partial(self) -> bool:
        """Whether to write the incomplete table when the job parks."""
        ...

    def check(self) -> None:
        """Refuse, before work begins, an output that would fail or do harm at the end.

        Raises:
            OutputError: the path is unusable, or a file is there that this tool did not write.
        """
        ...

    def checked(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, and refuse rows that the output cannot hold.

        Raises:
            OutputError: the output cannot hold a row, or so many of them.
        """
        ...

    def draft(
        self, reader: Reader, new_fields: Sequence[pa.Field]
    ) -> AbstractContextManager[Draft]:
        """Open an output; unless it is committed, nothing of it remains."""
        ...

    def discard(self) -> None:
        """Remove an outdated output, if this tool wrote it and nobody has changed it."""
        ...


@dataclass(slots=True)
class MemorySink:
    """An output that stays in memory.

    Attributes:
        table: the enriched table, once committed.
        keeps_partial: see `Sink`.
    """

    table: pa.Table = field(default_factory=lambda: pa.table({}))
    keeps_partial: bool = False
    path: None = field(default=None, init=False)

    @property
    def partial(self) -> MemorySink:
        """This sink: a table in memory replaces nothing."""
        return self

    def check(self) -> None:
        """Accept everything."""

    def checked(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """See `Sink.checked`."""
        return checked(batches, "parquet")

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a table in memory."""
        yield _MemoryDraft(self, ArrowWriter(reader.schema, new_fields))

    def discard(self) -> None:
        """Do nothing: the caller may use the table."""


@dataclass(frozen=True, slots=True)
class _MemoryDraft:
    sink: MemorySink
    writer: ArrowWriter

    def commit(self, manifest: Manifest) -> None:  # noqa: ARG002 - a file keeps it
        self.sink.table = self.writer.table


@dataclass(frozen=True, slots=True)
class FileSink:
    """An output file, with its manifest beside it.

    Attributes:
        path: where the output goes.
        output_format: its format.
        overwrite: whether a file that this tool did not write may be replaced.
        source: the input file, which must not be replaced.
        sample: whether the output holds only the first rows; a sample never replaces a full table.
        keeps_partial: see `Sink`.
    """

    path: Path
    output_format: Format
    overwrite: bool = False
    source: Path | None = None
    sample: bool = False
    keeps_partial: bool = False

    @property
    def partial(self) -> FileSink:
        """The file ``<stem>.partial<suffix>`` beside this one."""
        return replace(self, path=partial_path(self.path))

    def check(self) -> None:
        """See `Sink.check`."""
        with translated(self.path):
            place = self.path.resolve()
            if place.is_symlink():  # a loop, which Python 3.13 resolves without an error
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            check_place(place, manifest_path(place))
            if manifest_path(place).is_dir():
                raise OutputError(
                    f"{manifest_path(place)} is a folder.", "Write elsewhere: --output PATH."
                )
            if place.exists():
                self._check_replaceable(place)
            if manifest_path(place).exists() and not self.overwrite and not has_manifest(place):
                raise OutputError(
                    f"{manifest_path(place)} exists, and this tool did not write it.",
                    "Move it, replace it with --overwrite, or write elsewhere: --output PATH.",
                )

    def checked(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """See `Sink.checked`."""
        return checked(batches, self.output_format)

    def _check_replaceable(self, place: Path) -> None:
        if not place.is_file():
            raise OutputError(
                f"{self.path} is not a file.", "Give the path of a file: --output PATH."
            )
        if self.source is not None and place.samefile(self.source):
            raise OutputError(f"{self.path} is the input.", "Write elsewhere: --output PATH.")
        if not self.overwrite:
            full = self.sample and holds_full_table(place)
            check_replaceable(self.path, written_by_us(place), full)

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a temporary file beside the output; see `Sink.draft`.

        Raises:
            OutputError: the file cannot be written, or another run is writing it.
        """
        with ExitStack() as stack:
            with translated(self.path):
                place = self.path.resolve()  # a symbolic link stays as it is
                place.parent.mkdir(parents=True, exist_ok=True)
                temporary = stack.enter_context(only_writer(place))
                self.check()  # check again, now that no other run can write it
                replaces = sha256_of(place) if place.exists() else None
                writer = open_writer(temporary, place.name, self.output_format, reader, new_fields)
            try:
                yield _FileDraft(Writing(writer, self.path), temporary, place, replaces)
            except BaseException:
                with suppress(Exception):
                    writer.abort()
                raise

    def discard(self) -> None:
        """See `Sink.discard`; a sample does not make a full table outdated."""
        place = self.path.resolve()
        try:
            if self.sample and holds_full_table(place):
                return
            if place.is_file() and written_by_us(place):
                place.unlink()
                manifest_path(place).unlink(missing_ok=True)
                log.info("Removed %s: the complete table replaces it.", self.path)
        except OSError as error:
            log.warning("%s is out of date and cannot be removed: %s.", self.path, error.strerror)


@dataclass(frozen=True, slots=True)
class _FileDraft:
    writer: Writing
    temporary: Path
    place: Path
    replaces: str | None

    def commit(self, manifest: Manifest) -> None:
        """Move the manifest and then the output into place.

        The manifest has the hashes of this output and of the one that it replaces, so this tool
        recognises whichever of the two a crash leaves in place.
        """
        with translated(self.place):
            sync(self.temporary)
            self._check_unchanged()
            hashes = {"sha256": sha256_of(self.temporary), "replaces_sha256": self.replaces}
            record = {**manifest, "output": {"path": os.fspath(self.place), **hashes}}
            replace_text(manifest_path(self.place), json.dumps(record, indent=2) + "\n")
            self.temporary.replace(self.place)
            sync(self.place.parent)

    def _check_unchanged(self) -> None:
        found = sha256_of(self.place) if self.place.exists() else None
        if found is not None and found != self.replaces:
            raise OutputError(
                f"Somebody else wrote {self.place} while the job ran; it is kept.",
                "Move it and run the same command again, or write elsewhere: --output PATH.",
            )
