"""What the manifest beside an output says of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pipeline.errors import OutputError
from pipeline.files.paths import AnyPath, CloudPath
from pipeline.files.regular import read_text
from pipeline.tables.streams import sha256_of
from pipeline.wording import OUTPUT, OVERWRITE, beside

TOOL = "tender-pipeline"
"""The name of the tool in its manifests."""

MANIFEST = ".manifest.json"
"""What a manifest's name has after the name of its output."""

DECISIONS = ".decisions.jsonl"
"""The same of the file in which a review keeps its decisions, unless it is told another."""

BESIDE_OUTPUTS = (MANIFEST, DECISIONS)
"""Files that are no tables, although their names may end like one's."""

STARTED = {"tool": TOOL, "exit_state": "started"}
"""The manifest of an output that is not written yet."""

OCDS_TEXT = "text"
"""The column with the texts of releases in other formats than OCDS."""

PathType = TypeVar("PathType", Path, CloudPath)


@dataclass(frozen=True, slots=True)
class ExistingFile:
    """A file where an output goes, with its manifest."""

    path: Path

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest; empty if this tool wrote none."""
        return read_manifest(self.path)

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the file; None if there is none."""
        try:
            return sha256_of(self.path)
        except OSError:
            return None


def manifest_path(output: PathType) -> PathType:
    """Return the path of an output's manifest."""
    return output.with_name(f"{output.name}{MANIFEST}")


def written_by_us(output: Path) -> bool:
    """Return whether this tool wrote a file, and the file has not changed since."""
    return sha256_of(output) in part_of(read_manifest(output), "output").values()


def is_full_table(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest is of an output without ``--limit-rows``."""
    settings = manifest.get("settings")
    return isinstance(settings, dict) and settings.get("limit_rows") is None


def other_input(output: AnyPath | None, given: AnyPath) -> str | None:
    """Return the input that an output file was made from, if it is another one than ``given``."""
    if not isinstance(output, Path):
        return None
    path = part_of(read_manifest(output), "input").get("path")
    if not isinstance(path, str) or path == str(given):
        return None
    return None if isinstance(given, Path) and Path(path).resolve() == given.resolve() else path


def check_replaceable(path: AnyPath, is_ours: bool, full_by_sample: bool) -> None:
    """Refuse to replace an output that is not ours, or a full table by a sample.

    Raises:
        OutputError: it must not be replaced without ``--overwrite``.
    """
    hint = f"Replace it anyway with {OVERWRITE}, or write elsewhere: {OUTPUT}."
    if not is_ours:
        raise OutputError(
            f"{path} exists, and its manifest does not prove that this tool wrote it "
            "and that it has not changed since.",
            hint,
        )
    if full_by_sample:
        raise OutputError(
            f"{path} holds a full table, and this run writes a sample{beside('limit_rows')}.", hint
        )


def foreign_manifest(path: AnyPath) -> OutputError:
    """Return the error about a file of the user's where the manifest of an output goes."""
    return OutputError(
        f"{path}{MANIFEST} exists, and this tool did not write it.",
        f"Move it, replace it with {OVERWRITE}, or write elsewhere: {OUTPUT}.",
    )


def texts_of_output(
    text_columns: Sequence[str], input_format: str | None, output_format: str | None
) -> Sequence[str]:
    """Return the columns of an output that hold the texts of the text columns of its input."""
    is_table_of_releases = input_format == "ocds" != output_format
    return (OCDS_TEXT,) if is_table_of_releases else text_columns


def read_manifest(output: Path) -> dict[str, Any]:
    """Return the manifest of an output; empty if this tool wrote none."""
    try:
        return parse_manifest(read_text(manifest_path(output)))
    except (OSError, ValueError):
        return {}


def parse_manifest(text: str | bytes) -> dict[str, Any]:
    """Return a manifest from its text; empty if it is not one of this tool."""
    try:
        manifest = json.loads(text)
        return manifest if manifest["tool"] == TOOL else {}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def part_of(manifest: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an object in a manifest, which anybody may have changed; empty if there is none."""
    value = manifest.get(name)
    return value if isinstance(value, dict) else {}


def with_note(manifest: Mapping[str, Any], note: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a manifest with a note of a run that has written no output; earlier notes stay."""
    notes = {name: {**part_of(manifest, name), **part} for name, part in note.items()}
    return {**STARTED, **manifest, **notes}
