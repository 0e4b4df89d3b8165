"""The versions that write outputs, and what the manifest beside an output says."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pipeline.files.regular import read_text
from pipeline.tables import sha256_of

__all__ = [
    "TOOL",
    "VERSIONS",
    "has_manifest",
    "holds_full_table",
    "manifest_path",
    "read_manifest",
    "written_by_us",
]

LIBRARIES = ("tender-pipeline", "numpy", "pandas", "pyarrow", "scipy")

TOOL = "tender-pipeline"
"""The name of the tool in its manifests."""


def manifest_path(output: Path) -> Path:
    """Return the path of an output's manifest."""
    return output.with_name(f"{output.name}.manifest.json")


def has_manifest(place: Path) -> bool:
    """Tell whether an output has a manifest of this tool."""
    return bool(read_manifest(place))


def written_by_us(place: Path) -> bool:
    """Tell whether this tool wrote a file, and the file has not changed since."""
    output = read_manifest(place).get("output")
    known = output.values() if isinstance(output, dict) else ()
    return sha256_of(place) in known


def holds_full_table(place: Path) -> bool:
    """Tell whether this tool wrote a file without ``--limit-rows``."""
    settings = read_manifest(place).get("settings")
    return isinstance(settings, dict) and settings.get("limit_rows") is None


def read_manifest(place: Path) -> dict[str, Any]:
    """Return the manifest of an output; empty if this tool wrote none."""
    try:
        manifest = json.loads(read_text(manifest_path(place)))
        return manifest if manifest["tool"] == TOOL else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def _version(library: str) -> str:
    """Return a library's version, or ``unknown`` if it is a source tree without metadata."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


VERSIONS = {library: _version(library) for library in LIBRARIES}
"""Read at import, because a library may be replaced while a job runs with the old one."""
