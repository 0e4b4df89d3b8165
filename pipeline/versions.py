"""The versions of this tool and of the libraries that its outputs depend on."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

LIBRARIES = ("tender-pipeline", "numpy", "pandas", "pyarrow", "scipy")


def _version(library: str) -> str:
    """Return a library's version, or ``unknown`` if it is a source tree without metadata.

    `importlib.metadata` would parse the whole metadata, which takes longer than to classify a
    small table; it is used for libraries that are not installed in the usual form.
    """
    with suppress(KeyError, OSError, StopIteration):
        metadata = _installed()[library.replace("-", "_")] / "METADATA"
        with metadata.open(encoding="utf-8") as lines:
            return next(line[9:].strip() for line in lines if line.startswith("Version: "))
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


@cache
def _installed() -> Mapping[str, Path]:
    """Return where the metadata of installed libraries is, by their names with underscores."""
    found: dict[str, Path] = {}
    for place in sys.path:
        for folder in Path(place).glob("*.dist-info"):
            found.setdefault(folder.name.partition("-")[0].lower(), folder)
    return found


VERSIONS = {library: _version(library) for library in LIBRARIES}
"""Read at import, because a library may be replaced while a job runs with the old one."""
