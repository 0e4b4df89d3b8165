"""Opens files named by users, only if they are regular: a named pipe could block forever."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any

TEXT_BYTES = 16 * 2**20
"""The largest file to be read whole, bytes: a key, settings, a manifest."""

DESCRIPTORS = ("/proc/", "/dev/fd/")
"""Paths of files that are open already, such as ``<(...)`` and ``/dev/stdin``."""


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading, without ever blocking.

    Raises:
        OSError: the file is not regular, or cannot be opened.
    """
    return _open(path, pipes=False)


def read_text(path: Path, most: int = TEXT_BYTES) -> str:
    """Read a small text file, or an open pipe such as ``<(...)``.

    The largest size is in bytes. A byte order mark, as editors of Windows write, is left out.

    Raises:
        OSError: the file is neither, is too large, or cannot be read.
        UnicodeDecodeError: the file is not UTF-8.
    """
    with _open(path, pipes=True) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(f"it has more than {most:,} bytes")
    return content.decode("utf-8-sig")


def read_toml(path: Path, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Read a small TOML file; ``parse_float`` makes a value of a number with a point.

    Raises:
        OSError: the file cannot be read; see `read_text`.
        ValueError: the file is not TOML, or not UTF-8.
    """
    import tomllib  # most runs read no settings file

    try:
        return tomllib.loads(read_text(path), parse_float=parse_float)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _open(path: Path, pipes: bool) -> BufferedReader:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check_kind(descriptor, path, pipes)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")  # only the file closes it then, whenever a signal comes


def _check_kind(descriptor: int, path: Path, pipes: bool) -> None:
    kind = os.fstat(descriptor).st_mode
    open_already = stat.S_ISFIFO(kind) and os.path.realpath(path).startswith(DESCRIPTORS)
    if not (stat.S_ISREG(kind) or (pipes and open_already)):
        raise OSError("it is a folder" if stat.S_ISDIR(kind) else "it is not a regular file")
