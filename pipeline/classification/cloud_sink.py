"""An output in a cloud bucket: written to a temporary file, and uploaded when it is complete."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.classification.file_sink import temporary_writer
from pipeline.classification.manifest import (
    STARTED,
    ExistingFile,
    check_replaceable,
    foreign_manifest,
    is_full_table,
    manifest_path,
    parse_manifest,
    part_of,
    with_note,
)
from pipeline.classification.sink import Draft, Manifest, Sink, partial_path
from pipeline.errors import InputError, OutputError
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, CloudPath
from pipeline.settings import Format
from pipeline.tables.streams import sha256_of
from pipeline.tables.table import Reader
from pipeline.wording import OUTPUT, THEN_RUN_AGAIN, option

log = logging.getLogger(__name__)

EMPTY = hashlib.sha256().hexdigest()


@dataclass(frozen=True)
class ExistingObject:
    """An object where an output goes, with its manifest."""

    path: CloudPath
    storage: Storage

    @cached_property
    def version(self) -> str | None:
        """The version of the object; None if there is none."""
        return self.storage.version(self.path)

    @cached_property
    def manifest_text(self) -> bytes | None:
        """The object where its manifest goes; None if there is none."""
        return self.storage.read(manifest_path(self.path))

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest; empty if this tool wrote none."""
        return parse_manifest(self.manifest_text or b"")

    @cached_property
    def sha256(self) -> str | None:
        """The SHA-256 of the object, which is only read if the manifest is of another version."""
        if self.version is None:
            return None
        written = self._written
        if written.get("version") == self.version:
            return str(written.get("sha256"))
        with self.storage.local_copy(self.path) as (copy, _):
            return sha256_of(copy)

    @property
    def is_ours(self) -> bool:
        """Whether this tool wrote the object, and it has not changed since.

        In Azure, an object is empty until its upload is complete, so a crash may leave it empty.
        """
        written = self._written
        cut_off = {} if "version" in written else {"empty": EMPTY}
        return bool(written) and self.sha256 in {**written, **cut_off}.values()

    @property
    def _written(self) -> Mapping[str, Any]:
        return part_of(self.manifest, "output")


def existing(path: AnyPath, storage: Storage) -> ExistingFile | ExistingObject:
    """Return what is where an output goes."""
    if isinstance(path, CloudPath):
        return ExistingObject(path, storage)
    return ExistingFile(path.resolve())


@dataclass(frozen=True)
class CloudSink(Sink):
    """An output object, with its manifest beside it; see `FileSink` for its attributes."""

    path: CloudPath
    output_format: Format
    storage: Storage
    overwrite: bool = False
    source: AnyPath | None = None
    sample: bool = False
    keeps_partial: bool = False

    @property
    def partial(self) -> CloudSink:
        """The object ``<stem>.partial<suffix>`` beside this one."""
        return replace(self, path=partial_path(self.path))

    def manifests(self) -> list[tuple[AnyPath, Manifest]]:
        """See `Sink.manifests`."""
        if not self.path.key:  # a bucket, which `check` refuses
            return []
        with _as_output_errors():
            return [
                (path, ExistingObject(path, self.storage).manifest)
                for path in (self.partial.path, self.path)
            ]

    def check(self) -> None:
        """Refuse to replace what this tool did not write, and try to write.

        Only writing shows that it is permitted. So the manifest is written: the one that is there,
        or one that says that the job has started.
        """
        with _as_output_errors():
            existing_object = ExistingObject(self.path, self.storage)
            self._check(existing_object)
            started = json.dumps(STARTED).encode()
            manifest = existing_object.manifest_text if existing_object.manifest else started
            self.storage.write(manifest, manifest_path(self.path))

    def _check(self, existing_object: ExistingObject) -> None:
        if not self.path.key:
            raise OutputError(
                f"{self.path} is a bucket.",
                f"Name an object: {option('output', f'{self.path}/FILE')}.",
            )
        if self.path == self.source:
            raise OutputError(f"{self.path} is the input.", f"Write elsewhere: {OUTPUT}.")
        if self.overwrite:
            return
        if existing_object.version is not None:
            full = self.sample and is_full_table(existing_object.manifest)
            check_replaceable(self.path, existing_object.is_ours, full)
        if existing_object.manifest_text and not existing_object.manifest:
            raise foreign_manifest(self.path)

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a temporary file; see `pipeline.classification.sink.Sink.draft`."""
        with _as_output_errors():
            existing_object = ExistingObject(self.path, self.storage)
            self._check(existing_object)
        name, table = self.path.name, self.output_format
        with temporary_writer(name, table, reader, new_fields) as (writer, temporary):
            yield Draft(writer, partial(_commit, temporary, existing_object))

    def note(self, parked: Manifest) -> None:
        """See `pipeline.classification.sink.Sink.note`."""
        with _as_output_errors():
            existing_object = ExistingObject(self.path, self.storage)
            self._check(existing_object)
            _write_manifest(existing_object, with_note(existing_object.manifest, parked))

    def discard(self) -> None:
        """See `pipeline.classification.sink.Sink.discard`."""
        try:
            existing_object = ExistingObject(self.path, self.storage)
            if self.sample and is_full_table(existing_object.manifest):
                return
            if existing_object.version is not None and existing_object.is_ours:
                self.storage.delete(self.path)
                self.storage.delete(manifest_path(self.path))
                log.info("Removed %s: the complete table replaces it.", self.path)
        except (InputError, OutputError) as error:
            log.warning("%s is out of date and cannot be removed: %s", self.path, error.message)


def _commit(temporary: Path, old: ExistingObject, manifest: Manifest) -> None:
    """Write the manifest, the object, and its version into the manifest.

    The first manifest has the hashes of this output and of the one that it replaces, so this tool
    recognises whichever of the two a crash leaves in place. The version then shows without another
    reading that nobody has changed the object.
    """
    with _as_output_errors():
        replaces = old.sha256 if old.manifest and old.is_ours else None
        if old.storage.version(old.path) != old.version:
            raise OutputError(
                f"Somebody else wrote {old.path} while the job ran; it is kept.",
                f"Move it and {THEN_RUN_AGAIN} again, or write elsewhere: {OUTPUT}.",
            )
        output = {
            "path": str(old.path),
            "sha256": sha256_of(temporary),
            "replaces_sha256": replaces,
        }
        _write_manifest(old, {**manifest, "output": output})
        version = old.storage.upload(temporary, old.path)
        _write_manifest(old, {**manifest, "output": {**output, "version": version}})


def _write_manifest(there: ExistingObject, record: Manifest) -> None:
    text = json.dumps(record, indent=2) + "\n"
    there.storage.write(text.encode(), manifest_path(there.path))


@contextmanager
def _as_output_errors() -> Iterator[None]:
    """Raise errors of reading what is there as errors of the output."""
    try:
        yield
    except InputError as error:
        raise OutputError(error.message, error.hint) from error
