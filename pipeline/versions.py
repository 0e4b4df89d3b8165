"""The versions of this tool and of the libraries that its outputs depend on."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

LIBRARIES = ("tender-pipeline", "numpy", "pandas", "pyarrow", "scipy")


def _version(library: str) -> str:
    """Return a library's version, or ``unknown`` if it is a source tree without metadata."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


VERSIONS = {library: _version(library) for library in LIBRARIES}
"""Read at import, because a library may be replaced while a job runs with the old one."""
