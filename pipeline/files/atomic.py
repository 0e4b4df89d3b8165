"""Puts files in their places: whole, at once, durably, and by one writer at a time."""

from __future__ import annotations

import fcntl
import os
import platform
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from pipeline.errors import OutputError

__all__ = ["check_place", "only_writer", "replace_text", "sync", "translated"]

LONGEST_NAME = 255
"""Bytes that a file's name may have on the usual file systems."""


@contextmanager
def translated(path: Path, option: str = "--output PATH") -> Iterator[None]:
    """Tell what the system refuses as an error of an output.

    Args:
        path: of the output.
        option: what names another place for it.

    Raises:
        OutputError: the file cannot be written.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:  # a full disk, a loop of links, a NUL
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise OutputError(
            f"{path} cannot be written: {reason}.",
            f"Check the path, its permissions and the free space, or write elsewhere: {option}.",
        ) from error


def check_place(*places: Path) -> None:
    """Find out before the work what would fail behind it: names, folders, permissions.

    Raises:
        OutputError: a file cannot be written there.
    """
    for place in places:
        if len(os.fsencode(_temporary(place).name)) > LONGEST_NAME:
            raise OutputError(
                f"The name {place.name!r} is too long.", "Choose another: --output PATH."
            )
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
def only_writer(place: Path) -> Iterator[Path]:
    """Make the temporary file of an output and keep other runs on this machine from it.

    Raises:
        OutputError: another run is writing the same output.
    """
    temporary = _temporary(place)
    opened: list[int] = []  # known here from the first moment, for an interrupt may come in any
    try:
        _lock(temporary, place, opened)
        if place.exists():
            os.fchmod(opened[-1], stat.S_IMODE(place.stat().st_mode))
        yield temporary
    finally:
        for descriptor in opened:
            if _locked(descriptor) and _is_open_as(descriptor, temporary):
                temporary.unlink()
            os.close(descriptor)


def _lock(temporary: Path, place: Path, opened: list[int]) -> None:
    """Open the file and lock it; another run may have moved it away in between."""
    while True:
        opened.append(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666))
        if not _locked(opened[-1]):
            raise OutputError(
                f"Another run is writing {place}.",
                "Wait until it is done, or write elsewhere: --output PATH.",
            )
        if _is_open_as(opened[-1], temporary):
            return
        os.close(opened.pop())


def _locked(descriptor: int) -> bool:
    """Lock an open file, which may be locked by it already; tell whether it is."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_open_as(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def replace_text(path: Path, text: str) -> None:
    """Write a whole text file at once and durably."""
    temporary = _temporary(path)
    try:
        temporary.write_text(text, "utf-8")
        sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until the disk has a file or a folder's entries."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
