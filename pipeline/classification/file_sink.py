"""An output file: written atomically, and never over the user's own files."""

from __future__ import annotations

import errno
import json
import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from pipeline.classification.manifest import (
    check_replaceable,
    foreign_manifest,
    is_full_table,
    manifest_path,
    read_manifest,
    with_note,
    written_by_us,
)
from pipeline.classification.sink import Draft, Manifest, Sink, partial_path
from pipeline.errors import OutputError
from pipeline.files.atomic import check_place, only_writer, replace_text, sync, translated
from pipeline.files.paths import AnyPath
from pipeline.settings import Format
from pipeline.tables.formats import open_writer
from pipeline.tables.streams import sha256_of
from pipeline.tables.table import Batch, NewColumn, Reader, Writer
from pipeline.wording import OUTPUT, THEN_RUN_AGAIN


@dataclass(slots=True)
class OutputWriter:
    """A writer that raises disk errors as output errors, which name the output's path."""

    writer: Writer
    path: Path

    @property
    def replaced_characters(self) -> int:
        """See `pipeline.tables.table.Writer`."""
        return self.writer.replaced_characters

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """See `pipeline.tables.table.Writer`."""
        with translated(self.path):
            self.writer.write(batch, columns)

    def close(self, metadata: dict[str, str]) -> None:
        """See `pipeline.tables.table.Writer`."""
        with translated(self.path):
            self.writer.close(metadata)

    def abort(self) -> None:
        """See `pipeline.tables.table.Writer`."""
        with translated(self.path):  # closing a Parquet file writes its footer
            self.writer.abort()


@contextmanager
def temporary_writer(
    name: str, output_format: Format, reader: Reader, new_fields: Sequence[pa.Field]
) -> Iterator[tuple[OutputWriter, Path]]:
    """Open a temporary file for a table that is sent elsewhere when it is complete.

    The suffix of its name may ask for compression.

    Raises:
        OutputError: the file cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
        temporary = Path(folder) / name
        with translated(temporary):
            made = open_writer(temporary, name, output_format, reader, new_fields)
        writer = OutputWriter(made, temporary)
        try:
            yield writer, temporary
        except BaseException:
            with suppress(Exception):
                writer.abort()
            raise


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileSink(Sink):
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
    source: AnyPath | None = None
    sample: bool = False
    keeps_partial: bool = False

    @property
    def partial(self) -> FileSink:
        """The file ``<stem>.partial<suffix>`` beside this one."""
        return replace(self, path=partial_path(self.path))

    def manifests(self) -> list[tuple[AnyPath, Manifest]]:
        """See `Sink.manifests`."""
        paths = self.partial.path, self.path
        return [(path, read_manifest(path.resolve())) for path in paths]

    def check(self) -> None:
        """See `Sink.check`."""
        with translated(self.path):
            target = self.path.resolve()
            if target.is_symlink():  # a loop, which Python 3.13 resolves without an error
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            check_place(target, manifest_path(target))
            if manifest_path(target).is_dir():
                raise OutputError(
                    f"{manifest_path(target)} is a folder.", f"Write elsewhere: {OUTPUT}."
                )
            if target.exists() and not target.is_file():
                raise OutputError(
                    f"{self.path} is not a file.", f"Give the path of a file: {OUTPUT}."
                )
            if isinstance(self.source, Path) and target.exists() and target.samefile(self.source):
                raise OutputError(f"{self.path} is the input.", f"Write elsewhere: {OUTPUT}.")
            if self.overwrite:
                return
            if target.exists():
                full = self.sample and is_full_table(read_manifest(target))
                check_replaceable(self.path, written_by_us(target), full)
            if manifest_path(target).exists() and not read_manifest(target):
                raise foreign_manifest(target)

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a temporary file beside the output; see `Sink.draft`.

        Raises:
            OutputError: the file cannot be written, or another run is writing it.
        """
        with ExitStack() as stack:
            with translated(self.path):
                target = self.path.resolve()  # a symbolic link stays as it is
                target.parent.mkdir(parents=True, exist_ok=True)
                temporary = stack.enter_context(only_writer(target))
                self.check()  # check again, now that no other run can write it
                replaces = sha256_of(target) if target.exists() else None
                writer = open_writer(temporary, target.name, self.output_format, reader, new_fields)
            try:
                commit = partial(_commit, temporary, target, replaces)
                yield Draft(OutputWriter(writer, self.path), commit)
            except BaseException:
                with suppress(Exception):
                    writer.abort()
                raise

    def note(self, parked: Manifest) -> None:
        """See `Sink.note`."""
        with translated(self.path), only_writer(target := self.path.resolve()):
            self.check()  # somebody may have put a file there while the job ran
            record = with_note(read_manifest(target), parked)
            replace_text(manifest_path(target), json.dumps(record, indent=2) + "\n")

    def discard(self) -> None:
        """See `Sink.discard`; a sample does not make a full table outdated."""
        target = self.path.resolve()
        try:
            if self.sample and is_full_table(read_manifest(target)):
                return
            if target.is_file() and written_by_us(target):
                target.unlink()
                manifest_path(target).unlink(missing_ok=True)
                log.info("Removed %s: the complete table replaces it.", self.path)
        except OSError as error:
            log.warning("%s is out of date and cannot be removed: %s.", self.path, error.strerror)


def _commit(temporary: Path, target: Path, replaces: str | None, manifest: Manifest) -> None:
    """Move the manifest and then the output into place.

    The manifest has the hashes of this output and of the one that it replaces, so this tool
    recognises whichever of the two a crash leaves in place.
    """
    with translated(target):
        sync(temporary)
        if target.exists() and sha256_of(target) != replaces:
            raise OutputError(
                f"Somebody else wrote {target} while the job ran; it is kept.",
                f"Move it and {THEN_RUN_AGAIN} again, or write elsewhere: {OUTPUT}.",
            )
        hashes = {"sha256": sha256_of(temporary), "replaces_sha256": replaces}
        record = {**manifest, "output": {"path": os.fspath(target), **hashes}}
        replace_text(manifest_path(target), json.dumps(record, indent=2) + "\n")
        temporary.replace(target)
        sync(target.parent)
