"""Recognises a file that an earlier run has classified with the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.classification.cloud_sink import existing
from pipeline.classification.manifest import was_done
from pipeline.classification.provenance import part_of
from pipeline.cli.inputs import InputFile
from pipeline.cli.job import Terms, files_of
from pipeline.cli.run_options import RunOptions
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath
from pipeline.settings import Format
from pipeline.tables import format_of, local_table, output_format_of, sha256_of

__all__ = ["done_before"]


def done_before(options: RunOptions, file: InputFile, terms: Terms) -> Mapping[str, Any] | None:
    """Return the manifest of an output that the same job has written, complete and unchanged.

    None if there is no such output, or if calls that failed are to be bought again.
    """
    service = terms.service
    if service is not None and service.retry_failed:
        return None
    output = existing(file.output, terms.storage)
    found = output.manifest
    known = _input(file.path, found, options, terms.storage) if found else None
    if known is None:
        return None
    fingerprint, input_format = known
    output_format = output_format_of(file.output, options.output_format, input_format)
    files = files_of(input_format, output_format, options)
    base_url = None if service is None else service.base_url
    same = was_done(found, fingerprint, terms.settings, files, base_url)
    return found if same and part_of(found, "output").get("sha256") == output.sha256 else None


def _input(
    path: AnyPath, found: Mapping[str, Any], options: RunOptions, storage: Storage
) -> tuple[str, Format] | None:
    """Return the SHA-256 and the format of an input; None if it is missing or surely another.

    An object is not read: if its version is that in the manifest, so is everything else.
    """
    stated = options.input_format
    if isinstance(path, Path):
        if not path.is_file():
            return None
        with local_table(path, storage) as (table, _):
            return sha256_of(table), format_of(table, stated)
    match found:
        case {
            "input": {"path": place, "version": version, "sha256": str(digest)},
            "files": {"input_format": input_format},
        } if place == str(path) and version == storage.version(path):
            return digest, stated or input_format
    return None
